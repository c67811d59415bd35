import { deviceKeys } from '@gateway/contracts/redis-keys';
import { noteReplaced } from '@gateway/store/devices/incidents/count-replaced';
import { retireKeys } from '@gateway/store/devices/keys/device-keys';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const TEN_MINUTES_MS = 600_000;

describe('logins of another client with the keys of a device', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  let devices = 0;

  before(async () => {
    space = await openRedisSpace();
  });
  beforeEach(async () => {
    const address = { workspace: 'main', device: `phone-${devices++}` };
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
  });
  after(() => space.close());

  async function countAt(...timesMs: number[]): Promise<string[]> {
    const found: string[] = [];
    for (const at of timesMs) found.push(await noteReplaced(space.store, ownership, 1_700_000_000_000 + at));
    return found;
  }

  it('are too many at the third within ten minutes; then they are counted again', async () => {
    expect(await countAt(0, 1, TEN_MINUTES_MS - 1)).to.deep.equal(['once', 'once', 'tooOften']);
    expect(await countAt(TEN_MINUTES_MS, TEN_MINUTES_MS)).to.deep.equal(['once', 'once']);
  });

  it('are forgotten when they are longer ago', async () => {
    expect(await countAt(0, 1, TEN_MINUTES_MS, 2 * TEN_MINUTES_MS)).to.deep.equal(Array(4).fill('once'));
    await retireKeys(space.store, ownership, { quarantine: false });
    const late = [0, TEN_MINUTES_MS, TEN_MINUTES_MS + 1, TEN_MINUTES_MS + 2];
    expect(await countAt(...late)).to.deep.equal(['once', 'once', 'once', 'tooOften']);
  });

  it('are kept no longer than they count, however many there are', async () => {
    const { replaced } = deviceKeys(space.store.space, ownership.address);
    await countAt(...[0, 1, 2, 3, 4].map((times) => times * TEN_MINUTES_MS));
    expect(await space.store.redis.llen(replaced)).to.equal(3);
  });

  it('stay in Redis for ten minutes, and not beyond the account', async () => {
    const { replaced } = deviceKeys(space.store.space, ownership.address);
    await countAt(0, 1);
    expect(await space.store.redis.pttl(replaced)).to.be.within(TEN_MINUTES_MS - 5_000, TEN_MINUTES_MS);
    await retireKeys(space.store, ownership, { quarantine: true });
    expect(await space.store.redis.exists(replaced)).to.equal(0);
  });
});
