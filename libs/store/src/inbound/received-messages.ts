import type { InboundContent } from '@gateway/contracts/content/inbound-content';
import { platformIdOf, receivedIdsUnder } from '@gateway/contracts/content/received-id';
import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { bytes, defineScript, number, text } from '../core/scripts/define-script.js';
import { nothing } from '../core/scripts/replies.js';
import { replaceSealed } from '../core/sealed-values.js';
import type { Store } from '../core/store.js';
import { outboxOf } from '../events/outbox-of.js';
import type { Ownership } from '../fleet/ownership.js';
import { MOST_BYTES_OF_DEVICE } from './inbound-shares.js';
import { nameOwnSends } from './name-own-sends.js';

const recordStep = defineScript({
  name: 'record-received',
  whenFull: 'runs',
  isFenced: true,
  keys: ['received', 'receivedTimes', 'receivedBytes', 'receivedLost', 'outbox'],
  args: {
    receivedId: text,
    sealed: bytes,
    nowMs: number,
    retentionMs: number,
    mostBytes: number,
    entryBytes: number,
    '...otherIds': text,
  },
  reply: (reply) => {
    const [isNew, keptBytes] = reply as [number, number];
    return { isNew: isNew === 1, keptBytes };
  },
});
const forgetStep = defineScript({
  name: 'forget-received',
  whenFull: 'runs',
  keys: ['received', 'receivedBytes'],
  args: { entryBytes: number, '...receivedIds': text },
  reply: nothing,
});

/** A message that a person wrote to the device. */
export interface ReceivedMessage {
  platformId: string;
  /** Of its writer, as the network knows them. */
  jid: string;
  /** Of its writer, digits; absent when the network does not tell. */
  phone?: string;
  /** Of its writer, `digits@lid`, where the network or the keys tell it beside another jid. */
  hiddenId?: string;
  /** As its writer calls themselves. */
  name?: string;
  /** When the network accepted it; absent in what earlier versions stored. */
  atMs?: number;
  /** Whole; empty for files without a caption, and for what has none. */
  text: string;
  /** Absent in what earlier versions stored: then only the text is known. */
  content?: InboundContent;
  /** Id at the network of the message that it quotes. */
  replyTo?: string;
  /** Of that one, if it is a message of ours; found when it is kept. */
  replyToSend?: MessageId;
  /** With which its writer seals how they change it, 32 bytes in base64. */
  secret?: string;
}

const RETENTION_MS = 7 * 24 * 60 * 60 * 1000;
/** What Redis needs for an entry beside its id and value. */
const ENTRY_BYTES = 200;
const SCANNED_AT_ONCE = 100;
/** Clocks of the network and of processes. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Keeps it for 7 days, sealed, as long as there is room: beyond `mostBytes` the oldest of the device go first. `isNew` is false
 * for one that is there already: the network repeats what was not confirmed. Phones choose their ids: another person's under the same
 * one is kept beside it, of up to eight. `keptBytes`: of all of the device. Safe to repeat. Throws `FencedError` for a stale owner.
 */
export async function recordReceived(
  store: Store,
  ownership: Ownership,
  {
    message: { platformId, ...given },
    nowMs,
    mostBytes = MOST_BYTES_OF_DEVICE,
  }: { message: ReceivedMessage; nowMs: number; mostBytes?: number },
): Promise<{ isNew: boolean; keptBytes: number }> {
  const { address } = ownership;
  const { receivedLost } = deviceKeys(store.space, address);
  const keys = { ...keysOf(store, address), receivedLost, outbox: outboxOf(store, address) };
  const plain = JSON.stringify(await nameOwnSends(store, address, given));
  const limits = { nowMs, retentionMs: RETENTION_MS, mostBytes, entryBytes: ENTRY_BYTES };
  const keepUnder = (receivedId: string, otherIds: readonly string[]) => {
    const sealed = store.vault.seal(plain, 'received', placeOf(keys.received, receivedId));
    return recordStep(store, ownership, { ...keys, receivedId, sealed, ...limits, otherIds });
  };
  const [first, ...others] = receivedIdsUnder(platformId);
  const kept = await keepUnder(first, others);
  const free = kept.isNew
    ? undefined
    : await findFree(store, keys.received, { ids: [first, ...others], writer: given });
  return free === undefined ? kept : keepUnder(free, []);
}

type Writer = Pick<ReceivedMessage, 'jid' | 'phone' | 'hiddenId'>;

/** The id behind those that others have; `undefined` when it is there already. What cannot be decrypted here is of another: nothing is lost. */
async function findFree(
  store: Store,
  received: string,
  { ids, writer }: { ids: readonly string[]; writer: Writer },
): Promise<string | undefined> {
  const sealed = await store.redis.hmgetBuffer(received, ...ids);
  const isSame = (one: Buffer | null | undefined, i: number) => {
    const other = one && writerOf(store, placeOf(received, ids[i]!), one);
    return !!other && isSameWriter(other, writer);
  };
  return sealed.some(isSame) ? undefined : ids[sealed.findLastIndex((one) => one !== null) + 1];
}

export function isSameWriter(one: Writer, other: Writer): boolean {
  const names = namesOf(other);
  return namesOf(one).some((name) => names.includes(name));
}

/** The network may show a person under one of these today, and under another tomorrow. */
function namesOf({ jid, phone, hiddenId }: Writer): string[] {
  return [jid, hiddenId, phone && canonicalPhoneNumber(phone)].filter((name) => name !== undefined);
}

/**
 * For quotes, which the account can only make of messages in its own conversations: `undefined` for an id that the
 * account which is linked now did not receive in the last 7 days.
 */
export async function readReceived(
  store: Store,
  address: DeviceAddress,
  wanted: { receivedId: string; nowMs: number },
): Promise<ReceivedMessage | undefined> {
  const [found, accountSinceMs] = await Promise.all([
    findReceived(store, address, wanted),
    store.redis.hget(deviceKeys(store.space, address).device, 'accountSinceMs'),
  ]);
  return found && found.arrivedAtMs >= Number(accountSinceMs) ? found.message : undefined;
}

/**
 * The same of all people who wrote under this id of the network, by the ids under which it is kept.
 * @param wanted.readableOnly leaves out what cannot be decrypted here; else throws for it.
 */
export async function readReceivedUnder(
  store: Store,
  address: DeviceAddress,
  { platformId, nowMs, readableOnly = false }: { platformId: string; nowMs: number; readableOnly?: boolean },
): Promise<[receivedId: string, message: ReceivedMessage][]> {
  const ids = receivedIdsUnder(platformId);
  const { received } = keysOf(store, address);
  const sealed = await store.redis.hmgetBuffer(received, ...ids);
  const isWanted = (one: Buffer | null | undefined, id: string) =>
    !!one && (!readableOnly || writerOf(store, placeOf(received, id), one) !== undefined);
  const found: [string, ReceivedMessage][] = [];
  for (const receivedId of ids.filter((id, i) => isWanted(sealed[i], id))) {
    const message = await readReceived(store, address, { receivedId, nowMs });
    if (message) found.push([receivedId, message]);
  }
  return found;
}

/**
 * The same, whichever account received it; for what is told of it, and its file.
 * @param wanted.toldAtMs when that was written which is told: one that was made after that only took the id of one that is forgotten.
 */
export async function readInbound(
  store: Store,
  address: DeviceAddress,
  wanted: { receivedId: string; nowMs: number; toldAtMs?: number },
): Promise<ReceivedMessage | undefined> {
  const found = await findReceived(store, address, wanted);
  if (!found) return undefined;
  const { message, arrivedAtMs } = found;
  const { toldAtMs = arrivedAtMs } = wanted;
  // One that Redis lost came again with the same time of the network.
  const isLater = arrivedAtMs > toldAtMs && (message.atMs ?? 0) > toldAtMs + CLOCKS_DIFFER_MS;
  return isLater ? undefined : message;
}

/**
 * Whether one that is not kept any more had to go for room: not one whose time is over, or that was forgotten on request, unless all that
 * came then have had to go since.
 */
export async function isLostForRoom(
  store: Store,
  address: DeviceAddress,
  { arrivedAtMs, nowMs }: { arrivedAtMs: number; nowMs: number },
): Promise<boolean> {
  if (arrivedAtMs <= nowMs - RETENTION_MS) return false;
  const lostMs = await readLostMs(store, address);
  return lostMs !== undefined && arrivedAtMs <= lostMs;
}

/** When the latest came that had to go for room, ms. */
export async function readLostMs(store: Store, address: DeviceAddress): Promise<number | undefined> {
  const lostMs = await store.redis.get(deviceKeys(store.space, address).receivedLost);
  return lostMs === null ? undefined : Number(lostMs);
}

/** When it came, ms, also of one that was forgotten on request; `undefined` for one that is not kept, or not any more. */
export async function readArrival(
  store: Store,
  address: DeviceAddress,
  receivedId: string,
): Promise<number | undefined> {
  const atMs = await store.redis.zscore(keysOf(store, address).receivedTimes, receivedId);
  return atMs === null ? undefined : Number(atMs);
}

async function findReceived(
  store: Store,
  address: DeviceAddress,
  { receivedId, nowMs }: { receivedId: string; nowMs: number },
): Promise<{ message: ReceivedMessage; arrivedAtMs: number } | undefined> {
  const keys = keysOf(store, address);
  const [sealed, atMs] = await Promise.all([
    store.redis.hgetBuffer(keys.received, receivedId),
    store.redis.zscore(keys.receivedTimes, receivedId),
  ]);
  if (!sealed || Number(atMs) <= nowMs - RETENTION_MS) return undefined;
  const plain = store.vault.open(sealed, 'received', placeOf(keys.received, receivedId)).toString();
  return { message: { platformId: platformIdOf(receivedId), ...JSON.parse(plain) }, arrivedAtMs: Number(atMs) };
}

/** The network keeps the file of a message under another path now. Nothing happens if the message is gone. Safe to repeat. */
export async function keepMediaPath(
  store: Store,
  address: DeviceAddress,
  { receivedId, directPath }: { receivedId: string; directPath: string },
): Promise<void> {
  const { received } = keysOf(store, address);
  const place = placeOf(received, receivedId);
  const before = await store.redis.hgetBuffer(received, receivedId);
  if (!before) return;
  const message = JSON.parse(store.vault.open(before, 'received', place).toString()) as ReceivedMessage;
  if (!message.content || !('media' in message.content)) return;
  message.content.media.directPath = directPath;
  const after = store.vault.seal(JSON.stringify(message), 'received', place);
  await replaceSealed(store, { value: received, field: receivedId, before, after });
}

/** Forgets all messages of these writers. Answers how many, and how many more cannot be decrypted. Safe to repeat. */
export async function forgetReceivedFrom(
  store: Store,
  address: DeviceAddress,
  isOne: (writer: Pick<ReceivedMessage, 'jid' | 'phone'>) => boolean,
): Promise<{ forgotten: number; unreadable: number }> {
  const keys = keysOf(store, address);
  let [forgotten, unreadable, cursor] = [0, 0, '0'];
  do {
    const [next, found] = await store.redis.hscanBuffer(keys.received, cursor, 'COUNT', SCANNED_AT_ONCE);
    const receivedIds: string[] = [];
    for (let i = 0; i + 1 < found.length; i += 2) {
      const receivedId = found[i]!.toString();
      const writer = writerOf(store, placeOf(keys.received, receivedId), found[i + 1]!);
      if (!writer) unreadable += 1;
      else if (isOne(writer)) receivedIds.push(receivedId);
    }
    if (receivedIds.length > 0) await forgetStep(store, { ...keys, entryBytes: ENTRY_BYTES, receivedIds });
    forgotten += receivedIds.length;
    cursor = next.toString();
  } while (cursor !== '0');
  return { forgotten, unreadable };
}

function writerOf(store: Store, place: string, sealed: Buffer): Writer | undefined {
  try {
    return JSON.parse(store.vault.open(sealed, 'received', place).toString());
  } catch {
    return undefined;
  }
}

/** Of a sealed message. */
const placeOf = (received: string, receivedId: string) => `${received}/${receivedId}`;

function keysOf(store: Store, address: DeviceAddress) {
  const { received, receivedTimes, receivedBytes } = deviceKeys(store.space, address);
  return { received, receivedTimes, receivedBytes };
}
