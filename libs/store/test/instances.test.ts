import { instanceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { ensureDevice } from '@gateway/store/devices/devices';
import { type Instance, takeInstance } from '@gateway/store/fleet/instances/instances';
import { claimDevice, openSession, renewSessions } from '@gateway/store/fleet/ownership';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const NAME = 'sender-1';
const address = { workspace: 'main', device: 'phone-1' };
const shard = shardOf(address);

describe('the name of an instance', () => {
  let space: RedisSpace;
  const opened: { disconnect(): void }[] = [];
  const displaced: string[] = [];

  beforeEach(async () => {
    space = await openRedisSpace();
    displaced.length = 0;
  });
  afterEach(async () => {
    for (const client of opened.splice(0)) client.disconnect();
    await space.close();
  });

  /** Each process has a connection of its own: what is closed with it is heard no more. */
  async function start(processId: string, { hearsAfterMs = 0 } = {}): Promise<Instance & { die(): void }> {
    const subscriber = space.clients.subscriber.duplicate();
    opened.push(subscriber);
    const listen = subscriber.on.bind(subscriber);
    if (hearsAfterMs > 0)
      subscriber.on = (event, hear) => listen(event, (...heard) => setTimeout(hear, hearsAfterMs, ...heard));
    const onDisplaced = () => displaced.push(processId);
    const instance = await takeInstance({ store: space.store, subscriber, processId, onDisplaced }, NAME);
    return { ...instance, die: () => subscriber.disconnect() };
  }
  const failure = (attempt: Promise<unknown>) =>
    attempt.then(
      () => undefined,
      (error: { code: string }) => error.code,
    );
  const session = (id: string) => ({ shard, id });

  it('is refused to a second process while the first one lives', async () => {
    await start('a');
    expect(await failure(start('b'))).to.equal('instance_in_use');
    expect(displaced).to.deep.equal([]);
  });

  it('is refused also while the first one is busy, and answers a second later', async () => {
    await start('a', { hearsAfterMs: 1_000 });
    expect(await failure(start('b'))).to.equal('instance_in_use');
  });

  it('is free as soon as the process that had it has left', async () => {
    const first = await start('a');
    await first.leave();
    expect((await start('b')).formerProcessId).to.equal(undefined);
    expect(await space.store.redis.hget(instanceKeys(space.store.space, NAME).instance, 'process')).to.equal('b');
  });

  it('goes over from a process that died, and its devices are free at once, whatever time they had left', async () => {
    const first = await start('a');
    await first.noteSession(session('a.1'));
    await openSession(space.store, session('a.1'), 60_000);
    await ensureDevice(space.store, address);
    await claimDevice(space.store, address, 'a.1');
    first.die();
    const second = await start('b');
    expect(second.formerProcessId).to.equal('a');
    await second.noteSession(session('b.1'));
    await openSession(space.store, session('b.1'), 60_000);
    expect(await claimDevice(space.store, address, 'b.1')).to.include({ epoch: 2 });
  });

  it('is never taken back by a process that was only frozen: it begins no session, learns of it and ends', async () => {
    const first = await start('a');
    await first.noteSession(session('a.1'));
    await openSession(space.store, session('a.1'), 60_000);
    first.die();
    const second = await start('b');
    expect(await renewSessions(space.store, [session('a.1')], 60_000)).to.deep.equal([false]);
    expect(await failure(first.noteSession(session('a.2')))).to.equal('instance_taken');
    await eventually(() => displaced.includes('a'));
    await first.leave();
    await second.noteSession(session('b.1'));
  });

  it('is given to one of two that start at the same time', async () => {
    const first = await start('a');
    first.die();
    const outcomes = await Promise.all([failure(start('b')), failure(start('c'))]);
    expect(outcomes).to.have.members([undefined, 'instance_in_use']);
  });
});
