import { deviceKeys } from '@gateway/contracts/redis-keys';
import { ensureDevice } from '@gateway/store/devices/devices';
import { noteEnd } from '@gateway/store/devices/incidents/note-end';
import { readLeftOut } from '@gateway/store/devices/incidents/query-ends';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'default' };

describe('ends of the connection during a query', () => {
  let space: RedisSpace;
  let ownership: Ownership;

  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
  });
  afterEach(() => space.close());

  const end = (end: 'spoken' | 'wordless', lock = true) =>
    noteEnd(space.store, ownership, { wasOpen: { lock, quota: false }, end });
  const leftOut = async () => [...(await readLeftOut(space.store, address))];

  it('have it left out after two that the network told of', async () => {
    expect(await end('spoken')).to.deep.equal([]);
    expect(await end('spoken')).to.deep.equal(['lock']);
    expect(await end('spoken')).to.deep.equal([]);
    expect(await leftOut()).to.deep.equal(['lock']);
    const { queryEnds } = deviceKeys(space.store.space, address);
    expect(await space.store.redis.pttl(queryEnds), 'a day').to.be.within(86_000_000, 86_400_000);
  });

  it('count for half without a word, as the path may have broken', async () => {
    for (let i = 0; i < 3; i++) expect(await end('wordless')).to.deep.equal([]);
    expect(await leftOut()).to.deep.equal([]);
    expect(await end('wordless')).to.deep.equal(['lock']);
    expect(await leftOut()).to.deep.equal(['lock']);
  });

  it('count in a row only', async () => {
    for (let i = 0; i < 3; i++) await end('wordless');
    await end('wordless', false);
    for (let i = 0; i < 3; i++) expect(await end('wordless')).to.deep.equal([]);
    await end('spoken', false);
    expect(await end('spoken')).to.deep.equal([]);
    expect(await leftOut()).to.deep.equal([]);
  });
});
