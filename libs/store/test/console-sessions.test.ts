import { consoleKeys } from '@gateway/contracts/redis-keys';
import { digestOf } from '@gateway/store/console/digest';
import {
  endSession,
  endSessionsOf,
  keepSession,
  listSessions,
  readSession,
  writeSession,
} from '@gateway/store/console/sessions';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('sessions of the console', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  const write = async (id: string, { user = 'ada', ageMs = 0 } = {}) => {
    const record = { user, createdAtMs: Date.now() - ageMs, text: `of ${id}` };
    await writeSession(space.store, id, record);
    return record;
  };
  const keyOf = (id: string) => consoleKeys(space.store.space).session(digestOf(id));
  const leftMs = (id: string) => space.store.redis.pttl(keyOf(id));
  const digestsOf = async (user: string) => (await listSessions(space.store, user)).map(({ digest }) => digest);

  it('are kept under a digest, and end eight hours after their last use', async () => {
    const record = await write('cookie');
    expect(await readSession(space.store, 'cookie')).to.deep.equal(record);
    expect(await readSession(space.store, 'another')).to.equal(undefined);
    expect(await leftMs('cookie')).to.be.within(8 * HOUR_MS - 60_000, 8 * HOUR_MS);
    expect(await space.store.redis.exists(consoleKeys(space.store.space).session('cookie'))).to.equal(0);
    await space.store.redis.pexpire(keyOf('cookie'), 1_000);
    await keepSession(space.store, 'cookie', record);
    expect(await leftMs('cookie')).to.be.above(7 * HOUR_MS);
  });

  it('end seven days after they began, however much they are used', async () => {
    const record = await write('old', { ageMs: 7 * DAY_MS - HOUR_MS });
    expect(await leftMs('old')).to.be.within(HOUR_MS - 60_000, HOUR_MS);
    await keepSession(space.store, 'old', record);
    expect(await leftMs('old')).to.be.at.most(HOUR_MS);
    await write('young');
    await write('young', { ageMs: 7 * DAY_MS + 1 });
    expect(await readSession(space.store, 'young'), 'over').to.equal(undefined);
    expect(await digestsOf('ada')).to.deep.equal([digestOf('old')]);
    // As a record that Redis still has.
    await space.store.redis.set(keyOf('old'), JSON.stringify({ ...record, createdAtMs: Date.now() - 7 * DAY_MS }));
    expect(await readSession(space.store, 'old')).to.equal(undefined);
  });

  it('are not brought back by a use that comes after their end', async () => {
    const record = await write('cookie');
    await endSession(space.store, 'cookie');
    await keepSession(space.store, 'cookie', record);
    expect(await readSession(space.store, 'cookie')).to.equal(undefined);
    expect(await digestsOf('ada')).to.deep.equal([]);
    await endSession(space.store, 'cookie');
  });

  it('are listed for their user, the newest first, with their last use where it is known', async () => {
    const older = await write('older', { ageMs: HOUR_MS });
    const newer = await write('newer');
    await write('late', { ageMs: 7 * DAY_MS - HOUR_MS });
    await write('other', { user: 'ben' });
    const listed = await listSessions(space.store, 'ada');
    expect(listed.map(({ digest }) => digest)).to.deep.equal(['newer', 'older', 'late'].map(digestOf));
    expect(listed.slice(0, 2).map(({ record }) => record)).to.deep.equal([newer, older]);
    for (const { usedAtMs } of listed.slice(0, 2)) expect(usedAtMs).to.be.within(Date.now() - 60_000, Date.now() + 1);
    expect(listed[2]).not.to.have.property('usedAtMs');
    await space.store.redis.persist(keyOf('newer'));
    expect(await digestsOf('ada'), 'one without an end is none of ours').to.have.length(2);
  });

  it('end all at once for a user, and for no other', async () => {
    for (const id of ['one', 'two']) await write(id);
    await write('other', { user: 'ben' });
    await endSessionsOf(space.store, 'ada');
    await endSessionsOf(space.store, 'eve');
    expect(await digestsOf('ada')).to.deep.equal([]);
    expect(await readSession(space.store, 'one')).to.equal(undefined);
    expect(await digestsOf('ben')).to.have.length(1);
    expect(await space.store.redis.exists(consoleKeys(space.store.space).sessionsOf('ada'))).to.equal(0);
    expect(await space.store.redis.pttl(consoleKeys(space.store.space).sessionsOf('ben'))).to.be.above(6 * DAY_MS);
  });
});
