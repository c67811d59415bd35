import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { bytes, defineScript, number, text } from '../core/scripts/define-script.js';
import { nothing } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import type { Ownership } from '../fleet/ownership.js';

const recordStep = defineScript({
  name: 'record-received',
  whenFull: 'runs',
  isFenced: true,
  keys: ['received', 'receivedTimes'],
  args: { platformId: text, sealed: bytes, nowMs: number, retentionMs: number, most: number },
  reply: nothing,
});

/** A message that a person wrote to the device, as far as a reply needs it. */
export interface ReceivedMessage {
  platformId: string;
  /** Of its writer, as the network knows them. */
  jid: string;
  /** Of its writer, digits; absent when the network does not tell. */
  phone?: string;
  /** Text of a quote; empty for files without a caption. */
  text: string;
}

const RETENTION_MS = 7 * 24 * 60 * 60 * 1000;
/** Per device: about 2 MB. */
const MAX_MESSAGES = 5_000;

/** Keeps it for 7 days, sealed, the last 5,000 of a device. Safe to repeat. Throws `FencedError` for a stale owner. */
export async function recordReceived(
  store: Store,
  ownership: Ownership,
  { message: { platformId, ...message }, nowMs }: { message: ReceivedMessage; nowMs: number },
): Promise<void> {
  const { received, receivedTimes } = deviceKeys(store.space, ownership.address);
  const sealed = store.vault.seal(JSON.stringify(message), 'received', `${received}/${platformId}`);
  const limits = { nowMs, retentionMs: RETENTION_MS, most: MAX_MESSAGES };
  await recordStep(store, ownership, { received, receivedTimes, platformId, sealed, ...limits });
}

/** `undefined` for an id that the device did not receive in the last 7 days. */
export async function readReceived(
  store: Store,
  address: DeviceAddress,
  { platformId, nowMs }: { platformId: string; nowMs: number },
): Promise<ReceivedMessage | undefined> {
  const keys = deviceKeys(store.space, address);
  const [sealed, atMs] = await Promise.all([
    store.redis.hgetBuffer(keys.received, platformId),
    store.redis.zscore(keys.receivedTimes, platformId),
  ]);
  if (!sealed || Number(atMs) <= nowMs - RETENTION_MS) return undefined;
  return {
    platformId,
    ...JSON.parse(store.vault.open(sealed, 'received', `${keys.received}/${platformId}`).toString()),
  };
}

/** The writer of each stored message, and how many cannot be decrypted. */
export async function readReceivedWriters(
  store: Store,
  address: DeviceAddress,
): Promise<{ writers: Pick<ReceivedMessage, 'platformId' | 'jid' | 'phone'>[]; unreadable: number }> {
  const { received } = deviceKeys(store.space, address);
  const all = Object.entries(await store.redis.hgetallBuffer(received));
  const writers = all.flatMap(([platformId, sealed]) => {
    try {
      const message = JSON.parse(store.vault.open(sealed, 'received', `${received}/${platformId}`).toString());
      return [{ platformId, ...(message as { jid: string; phone?: string }) }];
    } catch {
      return [];
    }
  });
  return { writers, unreadable: all.length - writers.length };
}
