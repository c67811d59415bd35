import { randomBytes } from 'node:crypto';
import type { Pace } from '@gateway/contracts/devices/pace';
import {
  DEFAULT_DEVICE,
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
import { defineScript, text } from '../core/scripts/define-script.js';
import { oneOf } from '../core/scripts/replies.js';
import { type Store, writeAlways } from '../core/store.js';

const listStep = defineScript({
  name: 'list-device',
  whenFull: 'runs',
  keys: ['devices', 'shortIds', 'limits'],
  args: { device: text, short: text },
  reply: oneOf('listed', 'full', 'taken'),
});

/** The workspace has as many devices as its operator allows. */
export class DevicesFullError extends Error {}

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
 * having written nothing, when the workspace may not have another one.
 */
export async function ensureDevice(store: Store, address: DeviceAddress): Promise<void> {
  const keys = deviceKeys(store.space, address);
  const shared = workspaceKeys(store.space, address.workspace);
  const names = { device: address.device, short: shortDeviceId(address) };
  const { devices: listed, shortDeviceIds: shortIds, limits } = shared;
  const outcome = await listStep(store, { devices: listed, shortIds, limits, ...names });
  if (outcome === 'full') throw new DevicesFullError('the workspace has as many devices as it may');
  if (outcome === 'taken') throw new Error(`device ${address.device} needs another name: its short id is taken`);
  const idKey = sealIdKey(store, address);
  await writeAlways(store, 'HSETNX', keys.device, 'idKey', idKey);
  await writeAlways(store, 'HSETNX', keys.device, 'createdAtMs', systemClock.nowMs());
  await writeAlways(store, 'HSETNX', keys.device, 'displayName', address.device);
  const { devices } = shardKeys(store.space, shardOf(address));
  await writeAlways(store, 'SADD', devices, nameOfDevice(address));
  // A removal may have taken it out meanwhile: it looks at the shard last, as we do at the list.
  await writeAlways(store, 'SADD', shared.devices, address.device);
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

/** What people call it. The id, by which programs know it, stays. */
export async function renameDevice(store: Store, address: DeviceAddress, displayName: string): Promise<void> {
  await writeAlways(store, 'HSET', deviceKeys(store.space, address).device, 'displayName', displayName);
}

/** The operator's own pace for a device; without one the senders' default. Ring `sends` afterwards. */
export async function setPace(store: Store, address: DeviceAddress, pace: Pace | undefined): Promise<void> {
  const { device } = deviceKeys(store.space, address);
  if (pace) await writeAlways(store, 'HSET', device, 'pace', JSON.stringify(pace));
  else await store.redis.hdel(device, 'pace');
}

/** How the last attempt to link the device ended. An import is no such attempt: it may have been the way round the passkey. */
export async function notePasskeyDemand(store: Store, address: DeviceAddress, isDemanded: boolean): Promise<void> {
  const { device } = deviceKeys(store.space, address);
  if (isDemanded) await writeAlways(store, 'HSET', device, 'asksForPasskey', '1');
  else await store.redis.hdel(device, 'asksForPasskey');
}

/** The device that tokens act on which are not linked to one. */
export async function readDefaultDevice(store: Store, workspace: Workspace): Promise<DeviceId> {
  return (await store.redis.get(workspaceKeys(store.space, workspace).defaultDevice)) ?? DEFAULT_DEVICE;
}

/** Counts from the next request on, on every replica. */
export async function setDefaultDevice(store: Store, workspace: Workspace, device: DeviceId): Promise<void> {
  await writeAlways(store, 'SET', workspaceKeys(store.space, workspace).defaultDevice, device);
}

export async function listDevices(store: Store, workspace: Workspace): Promise<DeviceId[]> {
  const ids = await store.redis.smembers(workspaceKeys(store.space, workspace).devices);
  return ids.sort();
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
