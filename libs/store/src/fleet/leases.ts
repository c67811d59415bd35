import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { Store } from '../core/store.js';

/** Proof of ownership: every write of an owner carries it, and Redis compares it. */
export interface Lease {
  address: DeviceAddress;
  epoch: number;
  /** `owner:epoch`, the value of the lease key. */
  token: string;
}

/** Takes the device's lease if nobody holds it. */
export async function acquireLease(
  store: Store,
  address: DeviceAddress,
  options: { owner: string; ttlMs: number },
): Promise<Lease | undefined> {
  const keys = deviceKeys(store.space, address);
  const epoch = await store.run('acquire-lease', [keys.lease, keys.epoch], [options.owner, options.ttlMs]);
  if (epoch === 0) return undefined;
  return { address, epoch: Number(epoch), token: `${options.owner}:${epoch}` };
}

/** `false`: it is somebody else's by now, or nobody's. */
export async function renewLease(store: Store, lease: Lease, ttlMs: number): Promise<boolean> {
  const { lease: key } = deviceKeys(store.space, lease.address);
  return (await store.run('renew-lease', [key], [lease.token, ttlMs])) === 1;
}

/** Safe to repeat. */
export async function releaseLease(store: Store, lease: Lease): Promise<void> {
  await store.run('release-lease', [deviceKeys(store.space, lease.address).lease], [lease.token]);
}
