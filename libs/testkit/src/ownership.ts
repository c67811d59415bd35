import type { DeviceAddress } from '@gateway/contracts/ids';
import { sessionKey } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import type { Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import {
  claimDevice,
  endSessions,
  type Ownership,
  openSession,
  releaseDevice,
  renewSessions,
} from '@gateway/store/fleet/ownership';

let sessions = 0;

/** Owns a device, which is made if it is missing, under a session of its own, which is not renewed. `undefined` when it has an owner that lives. */
export async function takeDevice(
  store: Store,
  address: DeviceAddress,
  { owner, ttlMs }: { owner: string; ttlMs: number },
): Promise<Ownership | undefined> {
  await ensureDevice(store, address);
  const session = { shard: shardOf(address), id: `${owner}.${++sessions}` };
  await openSession(store, session, ttlMs);
  const claimed = await claimDevice(store, address, session.id);
  return claimed === 'taken' || claimed === 'noSession' ? undefined : claimed;
}

export const giveDeviceBack = async (store: Store, ownership: Ownership): Promise<void> =>
  void (await releaseDevice(store, ownership));

/** Whether the session lives under which the device was claimed; it has `ttlMs` more then. */
export async function renewSessionOf(store: Store, ownership: Ownership, ttlMs: number): Promise<boolean> {
  return (await renewSessions(store, [sessionOf(ownership)], ttlMs))[0]!;
}

/** What happens to a process that dies, `ttlMs` later. */
export async function endSessionOf(store: Store, ownership: Pick<Ownership, 'address' | 'token'>): Promise<void> {
  await endSessions(store, [sessionOf(ownership)]);
}

/** The session under which a device was claimed. */
export function sessionIdOf({ token }: Pick<Ownership, 'token'>): string {
  return token.slice(0, token.lastIndexOf(':'));
}

/** Where the session lies under which a device was claimed. */
export function sessionKeyOf({ space }: Pick<Store, 'space'>, ownership: Pick<Ownership, 'address' | 'token'>): string {
  return sessionKey(space, sessionOf(ownership));
}

function sessionOf({ address, token }: Pick<Ownership, 'address' | 'token'>) {
  return { shard: shardOf(address), id: sessionIdOf({ token }) };
}
