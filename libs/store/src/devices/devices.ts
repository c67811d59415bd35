import { randomBytes, randomInt } from 'node:crypto';
import type { Pace } from '@gateway/contracts/devices/pace';
import {
  type DeviceAddress,
  type DeviceId,
  deviceOfName,
  nameOfDevice,
  shortDeviceId,
  type Workspace,
} from '@gateway/contracts/ids';
import { deviceKeys, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { SHARDS, shardOf } from '@gateway/contracts/shards';
import { systemClock } from '@gateway/runtime/clock';
import { bytes, defineScript, flag, mixed, number, text } from '../core/scripts/define-script.js';
import { isOne, oneOf } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import { WorkspaceGoneError } from '../core/workspace-gone-error.js';

const listStep = defineScript({
  name: 'list-device',
  whenFull: 'runs',
  keys: ['devices', 'shortIds', 'limits', 'token?'],
  args: { device: text, short: text, isMade: flag },
  reply: oneOf('listed', 'known', 'full', 'taken', 'gone'),
});

const makeStep = defineScript({
  name: 'make-device',
  whenFull: 'runs',
  keys: ['device', 'devices'],
  args: { idKey: bytes, accountEpoch: number, nowMs: number, name: text, place: text, unkeptMs: number },
  reply: (reply) => {
    const [accountEpoch, stays] = reply as [string, number];
    return { accountEpoch: Number(accountEpoch), stays: stays === 1 };
  },
});

const keepStep = defineScript({
  name: 'keep-device',
  whenFull: 'runs',
  keys: ['device', 'devices'],
  args: { accountEpoch: number, place: text },
  reply: isOne,
});

const setFieldStep = defineScript({
  name: 'set-device-field',
  whenFull: 'runs',
  keys: ['device'],
  args: { madeAtMs: mixed, field: text, value: text },
  reply: isOne,
});

/** The workspace has as many devices as its operator allows. */
export class DevicesFullError extends Error {}

/**
 * The account epoch of a new device is random, for one of the same name may have been of a workspace that was deleted: what is still
 * under way for its account never goes out with another. It has four bytes in a send, and grows.
 */
const MOST_FIRST_EPOCH = 2 ** 31;
/** A device that is made and not listed after that. */
const UNKEPT_MS = 60 * 60 * 1000;

/** Constants of a device, and the operator's settings. */
export interface Device {
  displayName: string;
  createdAtMs: number;
  /** Digits of the account that was linked last. */
  account?: string;
  /** Since when this account is linked: earlier messages came from another one. */
  accountSinceMs?: number;
  /** The operator's own pace, when it is not the default. */
  pace?: Pace;
  /** The last attempt to link it ended because the account asks for a passkey: a link that it has now may be its last. */
  asksForPasskey: boolean;
}

/**
 * Makes a device that does not exist yet. Safe to repeat and to race: each step keeps what is there. Throws `DevicesFullError`,
 * when the workspace may not have another one, `WorkspaceGoneError` when it has been deleted since a caller was let in, and
 * `not_confirmed` when replicas do not have its place in the list, having written nothing that stays.
 * @param options.keyId of the token of that caller.
 */
export async function ensureDevice(
  store: Store,
  address: DeviceAddress,
  { keyId }: { keyId?: string } = {},
): Promise<void> {
  const { device } = deviceKeys(store.space, address);
  const { devices } = shardKeys(store.space, shardOf(address));
  const place = nameOfDevice(address);
  const list = () => listDevice(store, address, { keyId });
  for (;;) {
    let isNew = await list();
    const { accountEpoch, stays } = await makeStep(store, {
      ...{ device, devices, idKey: sealIdKey(store, address), accountEpoch: randomInt(1, MOST_FIRST_EPOCH) },
      ...{ nowMs: systemClock.nowMs(), name: address.device, place, unkeptMs: UNKEPT_MS },
    });
    // The list lies in another slot. The workspace may have been deleted meanwhile; or a removal may have taken the device out: it looks
    // at the device last, as we do at the list.
    isNew = (await list()) || isNew;
    // Only the list leads from the ids of its messages to the device. One that stays has a place there that was confirmed.
    if (isNew || !stays) await store.confirmWrites(workspaceKeys(store.space, address.workspace).devices);
    if (stays) return;
    // The version before looks for it in the shard, in place of the device.
    if (await keepStep(store, { device, devices, accountEpoch, place })) return void (await list());
  }
}

/**
 * Whether it was not there. Throws as `ensureDevice` does.
 * @param options.isMade it is there, and lost its place: the limit of devices is that of others.
 */
export async function listDevice(
  store: Store,
  address: DeviceAddress,
  { keyId, isMade = false }: { keyId: string | undefined; isMade?: boolean },
): Promise<boolean> {
  const shared = workspaceKeys(store.space, address.workspace);
  const names = { device: address.device, short: shortDeviceId(address) };
  const { devices: listed, shortDeviceIds: shortIds, limits } = shared;
  const token = keyId === undefined ? undefined : shared.token(keyId);
  const outcome = await listStep(store, { devices: listed, shortIds, limits, token, ...names, isMade });
  if (outcome === 'gone') throw new WorkspaceGoneError();
  if (outcome === 'full') throw new DevicesFullError('the workspace has as many devices as it may');
  if (outcome === 'taken') throw new Error(`device ${address.device} needs another name: its short id is taken`);
  return outcome === 'listed';
}

/** `undefined` for one that was never made, or was removed. */
export async function readDevice(store: Store, address: DeviceAddress): Promise<Device | undefined> {
  const { device } = deviceKeys(store.space, address);
  const found = await store.redis.hgetallBuffer(device);
  if (!found.idKey || !found.createdAtMs) return undefined;
  const read: Device = {
    displayName: String(found.displayName ?? address.device),
    createdAtMs: Number(found.createdAtMs),
    asksForPasskey: found.asksForPasskey !== undefined,
  };
  if (found.account) read.account = String(found.account);
  if (found.accountSinceMs) read.accountSinceMs = Number(found.accountSinceMs);
  if (found.pace) read.pace = JSON.parse(String(found.pace)) as Pace;
  return read;
}

/**
 * The key of the permutation that makes a device's platform ids: 16 bytes; `undefined` without such a device. Throws
 * `UnknownKeyError` where this process cannot open it.
 */
export async function readIdKey(store: Store, address: DeviceAddress): Promise<Buffer | undefined> {
  const sealed = await readSealedIdKey(store, address);
  return sealed && openIdKey(store, address, sealed);
}

/** Whether there is one that this process can open. Throws where Redis does not answer. */
export async function hasIdKey(store: Store, address: DeviceAddress): Promise<boolean> {
  const sealed = await readSealedIdKey(store, address);
  if (!sealed) return false;
  try {
    openIdKey(store, address, sealed);
    return true;
  } catch {
    return false;
  }
}

async function readSealedIdKey(store: Store, address: DeviceAddress): Promise<Buffer | undefined> {
  return (await store.redis.hgetBuffer(deviceKeys(store.space, address).device, 'idKey')) ?? undefined;
}

function openIdKey(store: Store, address: DeviceAddress, sealed: Buffer): Buffer {
  return store.vault.open(sealed, 'idKey', placeOfIdKey(store, address));
}

function placeOfIdKey(store: Store, address: DeviceAddress): string {
  return `${deviceKeys(store.space, address).device}/idKey`;
}

/** A new one: the step that writes it in place of another makes sure that no message of before is sent again. */
export function sealIdKey(store: Store, address: DeviceAddress): Buffer {
  return store.vault.seal(randomBytes(16), 'idKey', placeOfIdKey(store, address));
}

/** Of the account that is linked; 0 for the first one of a device that was made before epochs were random. */
export async function readAccountEpoch(store: Store, address: DeviceAddress): Promise<number> {
  return Number((await store.redis.hget(deviceKeys(store.space, address).device, 'accountEpoch')) ?? 0);
}

/** A device as an operator saw it: a later one of its name is another. Without a time whichever is there. */
export type SeenDevice = DeviceAddress & { createdAtMs?: number };

/** What people call it. The id, by which programs know it, stays. `false`: there is no such device. */
export function renameDevice(store: Store, device: SeenDevice, displayName: string): Promise<boolean> {
  return setField(store, device, 'displayName', displayName);
}

/** The operator's own pace for a device; without one the senders' default. Ring `sends` afterwards. `false`: there is no such device. */
export function setPace(store: Store, device: SeenDevice, pace: Pace | undefined): Promise<boolean> {
  return setField(store, device, 'pace', pace ? JSON.stringify(pace) : '');
}

/** Nothing is written where the device is gone by then. */
function setField(store: Store, seen: SeenDevice, field: string, value: string): Promise<boolean> {
  const { device } = deviceKeys(store.space, seen);
  return setFieldStep(store, { device, madeAtMs: seen.createdAtMs ?? '', field, value });
}

export async function listDevices(store: Store, workspace: Workspace): Promise<DeviceId[]> {
  const ids = await store.redis.smembers(workspaceKeys(store.space, workspace).devices);
  return ids.sort();
}

/** Also those that were removed: what they sent and received is kept as long as ever, and told by their short ids. */
export async function listDevicesWithRemoved(store: Store, workspace: Workspace): Promise<DeviceId[]> {
  const [listed, named] = await Promise.all([
    listDevices(store, workspace),
    store.redis.hvals(workspaceKeys(store.space, workspace).shortDeviceIds),
  ]);
  return [...new Set([...listed, ...named])].sort();
}

/** Of all workspaces: a command for each shard. */
export async function listAllDevices(store: Store): Promise<DeviceAddress[]> {
  const shards = Array.from({ length: SHARDS }, (_, shard) =>
    store.redis.smembers(shardKeys(store.space, shard).devices),
  );
  return (await Promise.all(shards)).flat().map(deviceOfName);
}

/** The device of a message id. */
export async function findDeviceByShortId(
  store: Store,
  workspace: Workspace,
  short: string,
): Promise<DeviceId | undefined> {
  const found = await store.redis.hget(workspaceKeys(store.space, workspace).shortDeviceIds, short);
  return found ?? undefined;
}
