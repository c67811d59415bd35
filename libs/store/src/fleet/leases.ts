import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, number, text } from '../core/scripts/define-script.js';
import { isOne, numeric } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';

const acquireStep = defineScript({
  name: 'acquire-lease',
  whenFull: 'runs',
  keys: ['lease', 'epoch'],
  args: { owner: text, ttlMs: number },
  reply: numeric,
});
const renewStep = defineScript({
  name: 'renew-lease',
  whenFull: 'runs',
  keys: ['lease'],
  args: { token: text, ttlMs: number },
  reply: isOne,
});
const releaseStep = defineScript({
  name: 'release-lease',
  whenFull: 'runs',
  keys: ['lease'],
  args: { token: text },
  reply: isOne,
});

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
  const epoch = await acquireStep(store, { lease: keys.lease, epoch: keys.epoch, ...options });
  if (epoch === 0) return undefined;
  return { address, epoch, token: `${options.owner}:${epoch}` };
}

/** `false`: it is somebody else's by now, or nobody's. */
export async function renewLease(store: Store, lease: Lease, ttlMs: number): Promise<boolean> {
  return renewStep(store, { lease: deviceKeys(store.space, lease.address).lease, token: lease.token, ttlMs });
}

/** Safe to repeat. */
export async function releaseLease(store: Store, lease: Lease): Promise<void> {
  await releaseStep(store, { lease: deviceKeys(store.space, lease.address).lease, token: lease.token });
}
