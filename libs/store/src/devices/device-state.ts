import type { DesiredState, LinkMethod, ObservedState, Reason, Want } from '@gateway/contracts/devices/device-state';
import type { Pace } from '@gateway/contracts/devices/pace';
import type { HeldRestriction } from '@gateway/contracts/devices/restriction';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys, sessionKeyPrefix } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { systemClock } from '@gateway/runtime/clock';
import { ringDoorbell } from '../core/doorbells.js';
import { defineScript, flag, number, text } from '../core/scripts/define-script.js';
import { isOne, oneOf } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import { outboxOf } from '../events/outbox-of.js';
import type { Ownership } from '../fleet/ownership.js';
import { requireProof } from '../workspace/tokens/api-tokens.js';
import { ensureDevice, readAccountEpoch } from './devices.js';
import { toRestriction } from './incidents/restrictions.js';

const readState = defineScript({
  name: 'read-device-state',
  whenFull: 'runs',
  isRead: true,
  keys: ['desired', 'observed', 'restriction', 'owner', 'creds', 'device', 'backlog'],
  args: { sessionPrefix: text },
  reply: (reply) =>
    reply as [string[], string[], string[], number, number, string | null, string | null, string | null],
});
const requestLinkStep = defineScript({
  name: 'request-link',
  whenFull: 'runs',
  keys: ['desired', 'device'],
  args: { attemptId: text, accountEpoch: number, newMethod: text, newPhone: text, isForced: flag, nowMs: number },
  reply: oneOf('started', 'inProgress', 'alreadyLinked', 'unmade', 'other'),
});
const requestUnlinkStep = defineScript({
  name: 'request-unlink',
  whenFull: 'runs',
  keys: ['desired', 'creds', 'device'],
  args: { attemptId: text, accountEpoch: number, nowMs: number },
  reply: (reply) => reply as ['requested' | 'nothingLinked' | 'other', string],
});
const cancelLinkStep = defineScript({
  name: 'cancel-link',
  whenFull: 'runs',
  keys: ['desired', 'observed', 'creds', 'history', 'device', 'outbox'],
  args: { attemptId: text, reason: text, nowMs: number },
  reply: isOne,
});
const recordObservedStep = defineScript({
  name: 'record-observed',
  whenFull: 'runs',
  isFenced: true,
  keys: ['desired', 'observed', 'history', 'device', 'outbox'],
  args: { nowMs: number, attemptId: text, newWant: text, '...fields': text },
  reply: oneOf('ok', 'moved'),
});

export interface DeviceState {
  desired?: DesiredState;
  observed?: ObservedState;
  /** Why messages to new contacts wait, where they do. */
  restriction?: HeldRestriction;
  isOwned: boolean;
  /** Whether Redis has credentials: of a linked account, or of an attempt to link one. */
  hasKeys: boolean;
  /** Random at first; grows whenever another account is linked. Sends carry it, and never go out under another epoch. */
  accountEpoch: number;
  /** Its own, if it has one. */
  pace?: Pace;
  /** Messages of open sends that are still to go out. */
  waitingMessages: number;
}

export async function readDeviceState(store: Store, address: DeviceAddress): Promise<DeviceState> {
  const keys = deviceKeys(store.space, address);
  const [desired, observed, held, ownership, creds, accountEpoch, pace, waiting] = await readState(store, {
    sessionPrefix: sessionKeyPrefix(store.space, shardOf(address)),
    ...keys,
  });
  const state: DeviceState = {
    isOwned: ownership === 1,
    ...{ hasKeys: creds === 1, accountEpoch: Number(accountEpoch), waitingMessages: Number(waiting) },
    ...(pace !== null && { pace: JSON.parse(pace) as Pace }),
  };
  const wanted = toFields(desired);
  if (wanted.want) state.desired = wanted as unknown as DesiredState;
  const seen = toFields(observed);
  if (seen.status) state.observed = toObserved(Object.assign(seen, openCode(store, keys.observed, seen.code)));
  const restriction = toRestriction(toFields(held));
  if (restriction) state.restriction = restriction;
  return state;
}

const placeOfCode = (key: string) => `${key}/code`;

/** Empty where it cannot be opened: the next code is a few seconds away. */
function openCode(store: Store, key: string, sealed: string | undefined): { code?: string } {
  if (sealed === undefined) return {};
  try {
    return { code: store.vault.open(Buffer.from(sealed, 'base64'), 'linkCode', placeOfCode(key)).toString() };
  } catch {
    return { code: '' };
  }
}

function toFields(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let i = 0; i + 1 < flat.length; i += 2) fields[flat[i]!] = flat[i + 1]!;
  return fields;
}

/**
 * The user wants an account on this device; that of a parked one comes back, unless `forceNew`. Safe to repeat: a running
 * attempt goes on. Ring `desired` afterwards. Throws as `ensureDevice` does, having written nothing.
 */
export async function requestLink(
  store: Store,
  address: DeviceAddress,
  request: { attemptId: string; method: LinkMethod; phone?: string; forceNew: boolean; keyId?: string },
): Promise<{ outcome: 'started' | 'inProgress' | 'alreadyLinked'; attemptId: string }> {
  const { desired, device } = deviceKeys(store.space, address);
  const { attemptId, method, phone = '', forceNew, keyId } = request;
  const wanted = { attemptId, newMethod: method, newPhone: phone, isForced: forceNew };
  for (;;) {
    const accountEpoch = await readEpochFor(store, address, keyId);
    const outcome = await requestLinkStep(store, {
      ...{ desired, device, ...wanted, accountEpoch },
      nowMs: systemClock.nowMs(),
    });
    // It may have been removed since the caller made it; once it is to be linked it cannot be.
    if (outcome === 'unmade') await ensureDevice(store, address, keyId === undefined ? {} : { keyId });
    else if (outcome !== 'other')
      return { outcome, attemptId: (await store.redis.hget(desired, 'attemptId')) ?? attemptId };
  }
}

/**
 * The user wants no account. The answer arrives as `observed.logout` under the attempt id. Ring `desired` afterwards. Throws
 * `WorkspaceGoneError`, having written nothing, when the workspace has been deleted since a caller was let in.
 * @param request.keyId of the token of that caller.
 */
export async function requestUnlink(
  store: Store,
  address: DeviceAddress,
  { attemptId, keyId }: { attemptId: string; keyId?: string },
): Promise<{ outcome: 'requested' | 'nothingLinked'; attemptId: string }> {
  const { desired, creds, device } = deviceKeys(store.space, address);
  for (;;) {
    const accountEpoch = await readEpochFor(store, address, keyId);
    const nowMs = systemClock.nowMs();
    const [outcome, joined] = await requestUnlinkStep(store, {
      ...{ desired, creds, device },
      ...{ attemptId, accountEpoch, nowMs },
    });
    if (outcome !== 'other') return { outcome, attemptId: joined };
  }
}

/**
 * The account epoch of the device that a caller may change. The token is looked for after it: as long as that is there, the device is of
 * the workspace that the caller was let into, and one that is made under its name later has another epoch.
 */
async function readEpochFor(store: Store, address: DeviceAddress, keyId: string | undefined): Promise<number> {
  const accountEpoch = await readAccountEpoch(store, address);
  if (keyId !== undefined) await requireProof(store, address.workspace, keyId);
  return accountEpoch;
}

/** Ends an attempt without an answer. Does nothing when the device has moved on. */
export async function cancelLink(
  store: Store,
  address: DeviceAddress,
  attempt: { attemptId: string; reason: Reason },
): Promise<boolean> {
  const { desired, observed, creds, history, device } = deviceKeys(store.space, address);
  const keys = { desired, observed, creds, history, device, outbox: outboxOf(store, address) };
  return cancelLinkStep(store, { ...keys, ...attempt, nowMs: systemClock.nowMs() });
}

/**
 * The owner stores the observed state, and with `want` the new wanted state. Returns `moved`, having written nothing,
 * when the user has asked for something else since the owner read `actedOn`. Throws `FencedError` for a stale owner.
 */
export async function recordObserved(
  store: Store,
  ownership: Ownership,
  change: { actedOn: DesiredState | undefined; observed: Omit<ObservedState, 'sinceMs'>; want?: Want },
): Promise<'ok' | 'moved'> {
  const keys = deviceKeys(store.space, ownership.address);
  const { code } = change.observed;
  const sealed = code && store.vault.seal(code, 'linkCode', placeOfCode(keys.observed)).toString('base64');
  const nowMs = systemClock.nowMs();
  const observed = { ...change.observed, sinceMs: nowMs, ...(sealed && { code: sealed }) };
  const fields = Object.entries(observed).filter(([, value]) => value !== undefined);
  return recordObservedStep(store, ownership, {
    ...{ desired: keys.desired, observed: keys.observed, history: keys.history, device: keys.device },
    ...{ outbox: outboxOf(store, ownership.address), nowMs },
    ...{ attemptId: change.actedOn?.attemptId ?? '', newWant: change.want ?? '', fields: fields.flat().map(String) },
  });
}

/**
 * Stores the state that the owner of a device observes, for the attempt that it acts on, and notifies waiting requests; nothing
 * (`moved`) when the user has asked for something else. Throws `FencedError` for a stale owner.
 */
export async function reportObserved(
  store: Store,
  ownership: Ownership,
  actedOn: DesiredState,
  observed: Omit<ObservedState, 'sinceMs' | 'attemptId'>,
  want?: Want,
): Promise<'ok' | 'moved'> {
  const attempt = actedOn.attemptId ? { attemptId: actedOn.attemptId } : {};
  const change = { actedOn, observed: { ...observed, ...attempt }, ...(want && { want }) };
  const outcome = await recordObserved(store, ownership, change);
  await ringDoorbell(store, { topic: 'observed', ...ownership.address });
  return outcome;
}

function toObserved(fields: Record<string, string>): ObservedState {
  const { sinceMs, codeExpiresAtMs, notBeforeMs, code, ...rest } = fields;
  const observed = { sinceMs: Number(sinceMs), ...rest } as unknown as ObservedState;
  if (code) observed.code = code;
  if (codeExpiresAtMs !== undefined) observed.codeExpiresAtMs = Number(codeExpiresAtMs);
  if (notBeforeMs !== undefined) observed.notBeforeMs = Number(notBeforeMs);
  return observed;
}
