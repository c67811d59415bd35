import type { InboundContent, MessageReference } from '@gateway/contracts/content/inbound-content';
import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import { isPlausible, mayBeOurs, platformIds } from '@gateway/contracts/sends/platform-id';
import type { Store } from '../core/store.js';
import { readIdKey } from '../devices/devices.js';
import { readRecord } from '../sends/read-send.js';

/**
 * The same, with the send of ours that it quotes or is about. That is looked up when the message comes and kept with it: what is told of
 * it stays the same when the send is gone. Whichever account made it, as the key of our ids stays.
 */
export async function nameOwnSends<Message extends { content?: InboundContent; replyTo?: string }>(
  store: Store,
  address: DeviceAddress,
  message: Message,
): Promise<Message> {
  const { content, replyTo } = message;
  const about = content && 'to' in content ? content.to : undefined;
  const [replyToSend, send] = await Promise.all([
    replyTo === undefined ? undefined : findOwnSend(store, address, { platformId: replyTo }),
    about && findOwnSend(store, address, about),
  ]);
  if (!replyToSend && !send) return message;
  const named = about && send && { content: { ...content, to: { ...about, messageId: send } } };
  return { ...message, ...named, ...(replyToSend && { replyToSend }) };
}

/** What a person wrote is kept also where this cannot be found out: without the key, or where the send is of another version. */
function findOwnSend(
  store: Store,
  address: DeviceAddress,
  { platformId }: MessageReference,
): Promise<MessageId | undefined> {
  if (!mayBeOurs(platformId)) return Promise.resolve(undefined);
  return readOwnSend(store, address, platformId).catch(() => undefined);
}

async function readOwnSend(store: Store, address: DeviceAddress, platformId: string): Promise<MessageId | undefined> {
  const key = await readIdKey(store, address);
  const place = key && platformIds(key).parse(platformId);
  if (!place || !isPlausible(place)) return undefined;
  const send = await readRecord(store, address, place.tag);
  return send && place.recipient < send.total && place.part < send.parts ? send.messageId : undefined;
}
