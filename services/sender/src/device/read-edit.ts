import type { DeviceAddress } from '@gateway/contracts/ids';
import { openEdit } from '@gateway/messenger/inbound/open-edit';
import type { IncomingMessage } from '@gateway/messenger/session/session-events';
import type { Store } from '@gateway/store/core/store';
import { isSameWriter, type ReceivedMessage, readReceivedUnder } from '@gateway/store/inbound/received-messages';

type Read = Omit<IncomingMessage, 'sealedEdit'>;

/**
 * An edit with its words, where they are sealed and the message that it changes is here: it has the secret. A STOP may be among them. Any
 * other message as it is, and an edit of one that this process has no key for: it would come again at each login.
 */
export async function readEdit(
  store: Store,
  address: DeviceAddress,
  { message: { sealedEdit, ...message }, nowMs }: { message: IncomingMessage; nowMs: number },
): Promise<Read> {
  const { content } = message;
  if (!sealedEdit || content.type !== 'edited') return message;
  const { platformId } = content.to;
  for (const [, original] of await readReceivedUnder(store, address, { platformId, nowMs, readableOnly: true })) {
    const { secret } = original;
    if (!secret || !isSameWriter(original, message)) continue;
    const text = openEdit(sealedEdit, { platformId, secret, writers: writersOf(message, original) });
    if (text !== undefined) return { ...message, text, content: { type: 'edited', to: content.to } };
  }
  return message;
}

/** All that the network calls them. */
function writersOf(...messages: (Read | ReceivedMessage)[]): string[] {
  const names = messages.flatMap(({ jid, phone, hiddenId }) => [jid, hiddenId, phone && `${phone}@s.whatsapp.net`]);
  return [...new Set(names)].filter((name) => name !== undefined);
}
