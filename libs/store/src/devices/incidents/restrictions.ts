import type { HeldRestriction, RestrictionKind } from '@gateway/contracts/devices/restriction';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { defineScript, mixed, number, text } from '../../core/scripts/define-script.js';
import { nothing } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { outboxOf } from '../../events/outbox-of.js';
import type { Ownership } from '../../fleet/ownership.js';

const recordRestrictionStep = defineScript({
  name: 'record-restriction',
  whenFull: 'runs',
  isFenced: true,
  keys: ['restriction', 'refused', 'outbox'],
  args: {
    nowMs: number,
    kind: text,
    untilMs: mixed,
    sinceMs: mixed,
    silentSinceMs: mixed,
    triedAtMs: mixed,
    '...numbers': text,
  },
  reply: nothing,
});

/** Why messages to new contacts of a device wait; `undefined` when they do not. */
export async function readRestriction(store: Store, address: DeviceAddress): Promise<HeldRestriction | undefined> {
  return toRestriction(await store.redis.hgetall(deviceKeys(store.space, address).restriction));
}

export function toRestriction(fields: Record<string, string>): HeldRestriction | undefined {
  const { kind, untilMs, sinceMs, silentSinceMs, triedAtMs } = fields;
  if (!kind) return undefined;
  return {
    kind: kind as RestrictionKind,
    sinceMs: Number(sinceMs),
    ...(untilMs && { untilMs: Number(untilMs) }),
    ...(silentSinceMs && { silentSinceMs: Number(silentSinceMs) }),
    ...(triedAtMs && { triedAtMs: Number(triedAtMs) }),
  };
}

/** The numbers whose messages the network refused under the restriction. */
export async function readRefusedContacts(store: Store, address: DeviceAddress): Promise<string[]> {
  return store.redis.smembers(deviceKeys(store.space, address).refusedContacts);
}

/**
 * Remembers a restriction, and the numbers that were refused since the last time; `undefined` forgets it and all of
 * them. Safe to repeat. Throws `FencedError` for a stale owner.
 */
export async function recordRestriction(
  store: Store,
  ownership: Ownership,
  restriction: HeldRestriction | undefined,
  refused: readonly string[] = [],
): Promise<void> {
  const keys = deviceKeys(store.space, ownership.address);
  const { kind = '', untilMs = '', sinceMs = '', silentSinceMs = '', triedAtMs = '' } = restriction ?? {};
  const times = { untilMs, sinceMs, silentSinceMs, triedAtMs };
  const places = { restriction: keys.restriction, refused: keys.refusedContacts };
  const told = { outbox: outboxOf(store, ownership.address), nowMs: systemClock.nowMs() };
  await recordRestrictionStep(store, ownership, { ...places, ...told, kind, ...times, numbers: refused });
}
