import { memberKeys } from '@gateway/contracts/redis-keys';
import { beatHeart, leaveMembers, listMembers, type Member } from '@gateway/store/fleet/members';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const member = (id: string, held = 0): Member => ({ id, held, capacity: 10 });

describe('members', () => {
  let space: RedisSpace;

  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  const beat = (self: Member, ttlMs = 60_000) => beatHeart(space.store, { self, ttlMs });
  const list = () => listMembers(space.store);

  it('know of each other from the first heartbeat on, with their loads', async () => {
    expect(await beat(member('b', 2))).to.deep.equal([member('b', 2)]);
    expect(await beat(member('a', 1))).to.deep.equal([member('a', 1), member('b', 2)]);
    expect(await beat(member('b', 3))).to.deep.equal([member('a', 1), member('b', 3)]);
    expect(await list()).to.deep.equal([member('a', 1), member('b', 3)]);
  });

  it('forget one that has fallen silent', async () => {
    await beat(member('silent'));
    await eventually(async () => (await beat(member('alive'), 30)).length === 1);
    expect(await list()).to.deep.equal([member('alive')]);
  });

  it('forget one that leaves, at once and wholly', async () => {
    await beat(member('a'));
    await beat(member('b'));
    await leaveMembers(space.store, 'a');
    expect(await list()).to.deep.equal([member('b')]);
    expect(await beat(member('b'))).to.deep.equal([member('b')]);
  });

  it('do not count the load of a process that is gone: its devices would stay unassigned', async () => {
    const { memberLoads } = memberKeys(space.store.space);
    await space.clients.commands.hset(memberLoads, 'ghost', '{"held":0,"capacity":1000}');
    expect(await beat(member('a'))).to.deep.equal([member('a')]);
  });

  it('give no device to one whose load is not known', async () => {
    const { members } = memberKeys(space.store.space);
    await space.clients.commands.zadd(members, Date.now(), 'mute');
    expect(await beat(member('a'))).to.deep.equal([member('a'), { id: 'mute', held: 0, capacity: 0 }]);
  });
});
