import type { MessageContent, Reply } from '@gateway/contracts/content/message-content';
import { type DeviceAddress, type MessageId, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import {
  type RecipientView,
  type SendHead,
  type SendTexts,
  unpackHead,
  unpackPlaces,
  unpackStatuses,
  unpackTexts,
} from '@gateway/contracts/sends/packed-send';
import {
  type ByteRange,
  HEAD_BYTES,
  HEAD_RANGE,
  placeRange,
  READ_VERSIONS,
  TEXT_RANGE,
} from '@gateway/contracts/sends/send-layout';
import { scanSlot } from '@gateway/runtime/redis/scan-keys';
import { UnknownVersionError } from '../core/scripts/unknown-version-error.js';
import type { Store } from '../core/store.js';
import { readAccountEpoch } from '../devices/devices.js';
import { cancelSend } from './change-send.js';

/** A send without its recipients. */
export interface SendRecord extends SendHead, SendTexts {
  tag: SendTag;
}

/**
 * The send of a message id, `undefined` when there is none (any more). One for an account that has left is cancelled by then.
 * Throws `UnknownVersionError`.
 */
export async function readSend(
  store: Store,
  address: DeviceAddress,
  messageId: MessageId,
): Promise<SendRecord | undefined> {
  const tag = parseMessageId(messageId)?.tag;
  const send = tag ? await readSendByTag(store, address, tag) : undefined;
  return send?.messageId === messageId ? send : undefined;
}

/** The send that a platform id belongs to. */
export async function readSendByTag(
  store: Store,
  address: DeviceAddress,
  tag: SendTag,
): Promise<SendRecord | undefined> {
  const [send, accountEpoch] = await Promise.all([readRecord(store, address, tag), readAccountEpoch(store, address)]);
  if (send?.state !== 'open' || send.accountEpoch === accountEpoch) return send;
  // The process that took the other account did not live to cancel what was open.
  await cancelSend(store, address, send.messageId);
  return readRecord(store, address, tag);
}

/** As it is written, whichever account is linked. Throws `UnknownVersionError`. */
export async function readRecord(store: Store, address: DeviceAddress, tag: SendTag): Promise<SendRecord | undefined> {
  const [head, texts] = await Promise.all(
    [HEAD_RANGE, TEXT_RANGE].map((range) => readBytes(store, address, tag, range)),
  );
  if (!head?.length || !texts?.length) return undefined;
  checkVersion(head);
  return { tag, ...unpackHead(head), ...unpackTexts(texts, head) };
}

/** The same with the places of its first recipients, for those who need both. */
export async function readBeginning(
  store: Store,
  address: DeviceAddress,
  { tag, limit }: { tag: SendTag; limit: number },
): Promise<{ send: SendRecord; places: Buffer } | undefined> {
  const range = { start: HEAD_RANGE.start, end: placeRange(0, limit).end };
  const bytes = await readBytes(store, address, tag, range);
  if (bytes.length === 0) return undefined;
  checkVersion(bytes);
  // A short one is there as a whole.
  const texts = bytes.length <= range.end ? bytes : await readBytes(store, address, tag, TEXT_RANGE);
  if (texts.length === 0) return undefined;
  return {
    send: { tag, ...unpackHead(bytes), ...unpackTexts(texts, bytes) },
    places: bytes.subarray(HEAD_BYTES),
  };
}

/** The places of recipients `from` to `from + limit`; behind the last of them texts. */
export function readPlaces(
  store: Store,
  address: DeviceAddress,
  { tag, from, limit }: { tag: SendTag; from: number; limit: number },
): Promise<Buffer> {
  return readBytes(store, address, tag, placeRange(from, limit));
}

function checkVersion(head: Buffer): void {
  if (!READ_VERSIONS.includes(head[0]!)) throw new UnknownVersionError({ version: `${head[0]}` });
}

function readBytes(store: Store, address: DeviceAddress, tag: SendTag, { start, end }: ByteRange): Promise<Buffer> {
  return store.redis.getrangeBuffer(sendKeys(store.space, address, tag).record, start, end);
}

/** Recipients `from` to `from + limit`, in the order of the request. */
export async function readRecipients(
  store: Store,
  address: DeviceAddress,
  tag: SendTag,
  { from, limit }: { from: number; limit: number },
): Promise<RecipientView[]> {
  const [head, places] = await Promise.all(
    [HEAD_RANGE, placeRange(from, limit)].map((range) => readBytes(store, address, tag, range)),
  );
  if (!head?.length || !READ_VERSIONS.includes(head[0]!) || !places) return [];
  const count = Math.max(0, Math.min(limit, unpackHead(head).total - from));
  return unpackPlaces(places, { from, count });
}

/** A digit for each recipient of a send: the code of its status. */
export async function readStatuses(store: Store, address: DeviceAddress, { tag, total }: SendRecord): Promise<string> {
  const places = await readBytes(store, address, tag, placeRange(0, total));
  return places.length === 0 ? '' : unpackStatuses(places, total);
}

/** The number of one recipient, as it was asked for; `undefined` when there is no such send or recipient. */
export async function readRecipientNumber(
  store: Store,
  address: DeviceAddress,
  { tag, recipient }: { tag: SendTag; recipient: number },
): Promise<string | undefined> {
  return (await readRecipients(store, address, tag, { from: recipient, limit: 1 }))[0]?.to;
}

export interface StoredContent {
  content: MessageContent;
  /** The message that this one answers. */
  reply?: Reply;
}

/** What was accepted; `undefined` when the send or its content is gone. Throws when it cannot be opened. */
export async function readContent(
  store: Store,
  address: DeviceAddress,
  tag: SendTag,
): Promise<StoredContent | undefined> {
  const { content: key } = sendKeys(store.space, address, tag);
  const sealed = await store.redis.getBuffer(key);
  return sealed ? openContent(store, key, sealed) : undefined;
}

/** What lies under this key. Throws when it cannot be opened. */
export function openContent(store: Store, key: string, sealed: Buffer): StoredContent {
  return JSON.parse(store.vault.open(sealed, 'content', key).toString());
}

/** The tags of all sends of a device that are kept, with work left or not, in no order; one may come twice. Throws when their slot moves. */
export async function* findSends(store: Store, address: DeviceAddress): AsyncGenerator<SendTag> {
  const { record } = sendKeys(store.space, address, '*');
  for await (const keys of scanSlot(store.redis, record, { match: record, count: 1_000 })) {
    yield* keys.map((key) => key.slice(record.length - 1));
  }
}
