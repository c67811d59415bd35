import type { InboundMedia } from '@gateway/contracts/content/inbound-content';
import { makeMediaId } from '@gateway/contracts/content/media-id';
import { platformIdOf } from '@gateway/contracts/content/received-id';
import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import { systemClock } from '@gateway/runtime/clock';
import type { Store } from '../core/store.js';
import { isLostForRoom, type ReceivedMessage, readInbound } from '../inbound/received-messages.js';
import { isToldWithoutKey } from './reading/key-patience.js';

export interface DescribedMessage {
  data: Record<string, unknown>;
  /** Who wrote it, by one name, whether their number is known or not; absent of one that was erased, or is too old. */
  writer?: string;
  /** What is in it had to go for room, before its time. */
  lostContent?: true;
}

/**
 * What a person wrote, as events tell it; of one that was erased, or is too old, only that there was one. The same of one whose key is
 * not configured here an hour later: it would hold up all that comes behind it. Until then throws `UnknownKeyError`.
 */
export async function describeReceived(
  store: Store,
  address: DeviceAddress,
  { receivedId, arrivedAtMs }: { receivedId: string; arrivedAtMs: number },
): Promise<DescribedMessage> {
  const found = await findMessage(store, address, { receivedId, arrivedAtMs });
  const message = found === 'lost' ? undefined : found;
  const known = message ?? ({} as Partial<ReceivedMessage>);
  const { phone, jid, hiddenId, name, atMs = arrivedAtMs, replyTo, replyToSend } = known;
  const data = {
    platformMessageId: platformIdOf(receivedId),
    from: phone ?? jid ?? null,
    name: name ?? null,
    at: new Date(atMs).toISOString(),
    content: message ? describeContent(makeMediaId(address, receivedId), message) : { type: 'text', text: null },
    replyTo: replyTo === undefined ? null : reference({ platformId: replyTo, messageId: replyToSend }),
  };
  const writer = hiddenId ?? jid;
  return { data, ...(writer !== undefined && { writer }), ...(found === 'lost' && { lostContent: true }) };
}

/** `lost`: it had to go for room. */
async function findMessage(
  store: Store,
  address: DeviceAddress,
  { receivedId, arrivedAtMs }: { receivedId: string; arrivedAtMs: number },
): Promise<ReceivedMessage | 'lost' | undefined> {
  const nowMs = systemClock.nowMs();
  try {
    const message = await readInbound(store, address, { receivedId, nowMs, toldAtMs: arrivedAtMs });
    return message ?? ((await isLostForRoom(store, address, { arrivedAtMs, nowMs })) ? 'lost' : undefined);
  } catch (thrown) {
    if (isToldWithoutKey(thrown, arrivedAtMs)) return undefined;
    throw thrown;
  }
}

function describeContent(
  mediaId: string,
  { text, content = { type: 'text' } }: ReceivedMessage,
): Record<string, unknown> {
  const words = text === '' && content.type !== 'text' ? {} : { text };
  if ('media' in content) return { ...content, ...words, media: describeMedia(mediaId, content.media) };
  const { type } = content;
  if (type === 'edited') return { type, to: reference(content.to), text: content.isSealed ? null : text };
  // A reaction, a vote and a deletion have no text of their own.
  return 'to' in content ? { ...content, to: reference(content.to) } : { ...content, ...words };
}

const reference = ({ platformId, messageId }: { platformId: string; messageId?: MessageId | undefined }) => ({
  platformMessageId: platformId,
  ...(messageId !== undefined && { messageId }),
});

function describeMedia(id: string, { mimeType, bytes, sha256, seconds, filename }: InboundMedia) {
  return {
    ...{ id, mimeType, bytes, sha256 },
    ...(seconds !== undefined && { seconds }),
    ...(filename !== undefined && { filename }),
    url: `/api/messenger/v1/media/${id}`,
  };
}
