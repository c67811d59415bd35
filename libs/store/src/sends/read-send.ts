import type { MessageContent, Reply, SendKind } from '@gateway/contracts/content/message-content';
import { type DeviceAddress, type MessageId, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import {
  RECIPIENT_BYTES,
  RECORD_VERSION,
  RESULT_BYTES,
  type RecipientResult,
  readResult,
  unpackRecipients,
} from '@gateway/contracts/sends/send-layout';
import { RECIPIENT_STATUSES, type SendState, type StatusCounts } from '@gateway/contracts/sends/statuses';
import { UnknownVersionError } from '../core/scripts/unknown-version-error.js';
import type { Store } from '../core/store.js';
import { cancelSend } from './change-send.js';

/** A send without its recipients. */
export interface SendRecord {
  messageId: MessageId;
  tag: SendTag;
  state: SendState;
  kind: SendKind;
  total: number;
  parts: number;
  owner: string;
  requestId: string;
  createdAtMs: number;
  expiresAtMs: number;
  cancelledAtMs?: number;
  /** When the network accepted it; OTPs only. */
  sentAtMs?: number;
  counts: StatusCounts;
}

export interface RecipientView extends RecipientResult {
  index: number;
  /** Digits. */
  to: string;
}

const FIELDS = [
  'v',
  'messageId',
  'state',
  'kind',
  'total',
  'parts',
  'owner',
  'requestId',
  'createdAtMs',
  'expiresAtMs',
  'cancelledAtMs',
  'sentAtMs',
  'accountEpoch',
] as const;

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
  const [found, accountEpoch] = await Promise.all([
    readRecord(store, address, tag),
    store.redis.hget(deviceKeys(store.space, address).device, 'accountEpoch'),
  ]);
  if (found?.send.state !== 'open' || found.accountEpoch === accountEpoch) return found?.send;
  // The process that took the other account did not live to cancel what was open.
  await cancelSend(store, address, found.send.messageId);
  return (await readRecord(store, address, tag))?.send;
}

interface FoundRecord {
  send: SendRecord;
  /** Of the account that it was accepted for; the first has none. */
  accountEpoch: string | null;
}

async function readRecord(store: Store, address: DeviceAddress, tag: SendTag): Promise<FoundRecord | undefined> {
  const { record } = sendKeys(store.space, address, tag);
  const values = await store.redis.hmget(record, ...FIELDS, ...RECIPIENT_STATUSES);
  const [v, messageId, state, kind, total, parts, owner, requestId, createdAtMs, expiresAtMs, ...more] = values;
  const [cancelledAtMs, sentAtMs, accountEpoch = null] = more;
  if (!messageId) return undefined;
  if (Number(v) !== RECORD_VERSION) throw new UnknownVersionError({ version: v ?? undefined });
  const counts = values.slice(FIELDS.length).map(Number);
  const send: SendRecord = {
    messageId,
    tag,
    state: state as SendState,
    kind: kind as SendKind,
    total: Number(total),
    parts: Number(parts),
    owner: owner ?? '',
    requestId: requestId ?? '',
    createdAtMs: Number(createdAtMs),
    expiresAtMs: Number(expiresAtMs),
    counts: Object.fromEntries(RECIPIENT_STATUSES.map((status, i) => [status, counts[i]])) as StatusCounts,
  };
  if (cancelledAtMs) send.cancelledAtMs = Number(cancelledAtMs);
  if (sentAtMs) send.sentAtMs = Number(sentAtMs);
  return { send, accountEpoch };
}

/** Recipients `from` to `from + limit`, in the order of the request. */
export async function readRecipients(
  store: Store,
  address: DeviceAddress,
  tag: SendTag,
  page: { from: number; limit: number },
): Promise<RecipientView[]> {
  const keys = sendKeys(store.space, address, tag);
  const to = page.from + page.limit;
  const [packed, results] = await Promise.all([
    store.redis.getrangeBuffer(keys.recipients, page.from * RECIPIENT_BYTES, to * RECIPIENT_BYTES - 1),
    store.redis.getrangeBuffer(keys.results, page.from * RESULT_BYTES, to * RESULT_BYTES - 1),
  ]);
  return unpackRecipients(packed).map((number, i) => ({ index: page.from + i, to: number, ...readResult(results, i) }));
}

/** The number of one recipient, as it was asked for; `undefined` when there is no such send or recipient. */
export async function readRecipientNumber(
  store: Store,
  address: DeviceAddress,
  { tag, recipient }: { tag: SendTag; recipient: number },
): Promise<string | undefined> {
  const { recipients } = sendKeys(store.space, address, tag);
  const from = recipient * RECIPIENT_BYTES;
  const packed = await store.redis.getrangeBuffer(recipients, from, from + RECIPIENT_BYTES - 1);
  return unpackRecipients(packed)[0];
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
  const { record } = sendKeys(store.space, address, tag);
  const [content, reply] = await store.redis.hmgetBuffer(record, 'content', 'reply');
  if (!content) return undefined;
  const open = (sealed: Buffer, field: 'content' | 'reply') =>
    JSON.parse(store.vault.open(sealed, field, `${record}/${field}`).toString());
  return { content: open(content, 'content'), ...(reply && { reply: open(reply, 'reply') }) };
}

/** The tags of all sends of a device that are kept, with work left or not, in no order; one may come twice. */
export async function* findSends(store: Store, address: DeviceAddress): AsyncGenerator<SendTag> {
  const { recipients } = sendKeys(store.space, address, '*');
  const [before, after] = recipients.split('*') as [string, string];
  let cursor = '0';
  do {
    const [next, keys] = await store.redis.scan(cursor, 'MATCH', recipients, 'COUNT', 1_000);
    cursor = next;
    yield* keys.map((key) => key.slice(before.length, key.length - after.length));
  } while (cursor !== '0');
}

/** Ids of the sends with work left, those that expire first in front. */
export async function listOpenSends(store: Store, address: DeviceAddress): Promise<MessageId[]> {
  return store.redis.zrange(deviceKeys(store.space, address).openSends, '0', '-1');
}

/** Whether a device has sends with work left, or something to be forgotten. */
export async function hasUnfinished(store: Store, address: DeviceAddress): Promise<boolean> {
  const { openSends, erasures, releasedBlobs } = deviceKeys(store.space, address);
  return (await store.redis.exists(openSends, erasures, releasedBlobs)) > 0;
}

/** Messages that wait on the device. */
export async function readBacklog(store: Store, address: DeviceAddress): Promise<{ messages: number }> {
  return { messages: Number((await store.redis.get(deviceKeys(store.space, address).backlog)) ?? 0) };
}
