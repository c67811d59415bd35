import { type DeviceAddress, type DeviceId, deviceOfName, nameOfDevice, type Workspace } from '@gateway/contracts/ids';
import { shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import type { Store } from '../../core/store.js';
import { WorkspaceGoneError } from '../../core/workspace-gone-error.js';
import { createProof } from '../../workspace/tokens/api-tokens.js';
import { listDevice } from '../devices.js';
import { unlistDevice } from '../removing/remove-device.js';

/** The name of a proof. */
const PROOF = 'list of devices';

/**
 * Puts a device back into the list of its workspace: that lies in another slot, and a failover of its master may forget what the
 * device's own remembers. Answers whether it was missing. Safe to repeat, and to race: a device that is removed, or goes with its workspace, is
 * not listed by it. Throws `WorkspaceGoneError` for one whose workspace is being deleted, or is no more.
 * @param keyId of the token of a caller. Default: a proof that is made for it.
 */
export async function relistDevice(store: Store, address: DeviceAddress, keyId?: string): Promise<boolean> {
  const { workspace, device } = address;
  if (await store.redis.sismember(workspaceKeys(store.space, workspace).devices, device)) return false;
  const proof = keyId ?? (await createProof(store, workspace, PROOF));
  // Looked for after the proof was there: as long as that is, it is of the same workspace.
  if (!(await isInShard(store, address))) return false;
  const wasMissing = await listDevice(store, address, { keyId: proof, isMade: true });
  // Removed meanwhile: that may have looked at the list before.
  if (!(await isInShard(store, address))) await unlistDevice(store, address);
  return wasMissing;
}

/**
 * The same of all devices of a shard that their workspaces do not list: two commands, and one for each further workspace. Answers which.
 * A workspace whose node is away holds up no other.
 */
export async function relistDevices(store: Store, shard: number): Promise<DeviceAddress[]> {
  const devicesOf = new Map<Workspace, DeviceId[]>();
  for (const name of await store.redis.smembers(shardKeys(store.space, shard).devices)) {
    const { workspace, device } = deviceOfName(name);
    devicesOf.set(workspace, [...(devicesOf.get(workspace) ?? []), device]);
  }
  return (await Promise.all(Array.from(devicesOf, (of) => relistOf(store, ...of)))).flat();
}

async function relistOf(store: Store, workspace: Workspace, devices: readonly DeviceId[]): Promise<DeviceAddress[]> {
  const areListed = await store.redis.smismember(workspaceKeys(store.space, workspace).devices, ...devices);
  const missing = devices.filter((_, i) => areListed[i] === 0).map((device) => ({ workspace, device }));
  if (missing.length === 0) return [];
  try {
    const proof = await createProof(store, workspace, PROOF);
    const wereMissing = await Promise.all(missing.map((address) => relistDevice(store, address, proof)));
    return missing.filter((_, i) => wereMissing[i]);
  } catch (thrown) {
    if (thrown instanceof WorkspaceGoneError) return [];
    throw thrown;
  }
}

async function isInShard(store: Store, address: DeviceAddress): Promise<boolean> {
  const { devices } = shardKeys(store.space, shardOf(address));
  return (await store.redis.sismember(devices, nameOfDevice(address))) === 1;
}
