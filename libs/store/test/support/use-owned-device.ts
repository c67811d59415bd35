import { ensureDevice } from '@gateway/store/devices/devices';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { standIn } from '@gateway/testkit/stand-in';

/** A number of Brazil, as it is typed and as the network knows it. */
export const TYPED = '5511987654321';
export const KNOWN = '551187654321';
/** Of another owner. */
export const OTHER = '447700900123';

/** A corner of Redis, and a device in it that the test owns: made again for each test. */
export function useOwnedDevice() {
  const address = { workspace: 'main', device: 'a' };
  const parts = {} as { space: RedisSpace; ownership: Ownership };
  beforeEach(async () => {
    parts.space = await openRedisSpace();
    await ensureDevice(parts.space.store, address);
    parts.ownership = (await takeDevice(parts.space.store, address, { owner: 'a', ttlMs: 600_000 }))!;
  });
  afterEach(() => parts.space.close());
  return { address, space: standIn(() => parts.space), ownership: standIn(() => parts.ownership) };
}
