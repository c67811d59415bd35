import type { DeviceAddress } from '@gateway/contracts/ids';
import type { Store } from '../core/store.js';
import type { Incoming } from './incoming-messages.js';
import { isSameWriter, type ReceivedMessage, readReceivedUnder } from './received-messages.js';

/** How the words of an edit are opened: `openEdit` of the messenger's package. */
type OpenEdit<Sealed> = (
  edit: Sealed,
  original: { platformId: string; secret: string; writers: readonly string[] },
) => string | undefined;

/**
 * An edit with its words, where they are sealed and the message that it changes is here: it has the secret. A STOP may be among them. Any
 * other message as it is, and an edit of one that this process has no key for: it would come again at each login.
 */
export async function readEdit<Sealed>(
  store: Store,
  address: DeviceAddress,
  {
    message: { sealedEdit, ...message },
    nowMs,
    openEdit,
  }: { message: Incoming & { sealedEdit?: Sealed }; nowMs: number; openEdit: OpenEdit<Sealed> },
): Promise<Incoming> {
  const { content } = message;
  if (!sealedEdit || content?.type !== 'edited') return message;
  const { platformId } = content.to;
  const { storedHiddenId, ...named } = message;
  const writer = storedHiddenId === undefined ? named : { hiddenId: storedHiddenId, ...named };
  for (const [, original] of await readReceivedUnder(store, address, { platformId, nowMs, readableOnly: true })) {
    const { secret } = original;
    if (!secret || !isSameWriter(original, writer)) continue;
    const text = openEdit(sealedEdit, { platformId, secret, writers: writersOf(writer, original) });
    if (text !== undefined) return { ...message, text, content: { type: 'edited', to: content.to } };
  }
  return message;
}

/** All that the network calls them. */
function writersOf(...messages: ReceivedMessage[]): string[] {
  const names = messages.flatMap(({ jid, phone, hiddenId }) => [jid, hiddenId, phone && `${phone}@s.whatsapp.net`]);
  return [...new Set(names)].filter((name) => name !== undefined);
}
