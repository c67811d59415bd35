import { addHeadroomMetrics } from '@gateway/api/sends/headroom-metrics';
import { RedisHeadroom, type RoomUse, roomUseOf } from '@gateway/api/sends/redis-headroom';
import { SHARDS } from '@gateway/contracts/shards';
import { inTime } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { ApiError } from '@gateway/runtime/errors';
import { createMetrics } from '@gateway/runtime/process/metrics';
import type { Capacity } from '@gateway/store/core/capacity';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

function fakeReader(answers: (Capacity | Error)[]) {
  let asked = 0;
  const read = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)]!;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { read, asked: () => asked };
}
const memory = (usedBytes: number, limitBytes: number, queuedMessages = 0): Capacity => ({
  ...{ usedBytes, limitBytes, queuedMessages: new Map([['main', queuedMessages]]), fileBytes: 0 },
});
const fakeClock = () => {
  const clock = { ms: 0, nowMs: () => clock.ms, monotonicMs: () => clock.ms };
  return clock;
};

describe('room in Redis', () => {
  const headroomOf = (capacity: Capacity) => new RedisHeadroom(fakeReader([capacity]).read, fakeClock());
  const hasRoom = (capacity: Capacity, use: RoomUse = 'list', messages?: number) =>
    headroomOf(capacity).hasRoom(use, messages);

  it('ends at 85 % of maxmemory, for what must not wait at 95 %, and never without one', async () => {
    expect(await hasRoom(memory(84, 100))).to.equal(true);
    expect(await hasRoom(memory(85, 100))).to.equal(false);
    expect(await hasRoom(memory(94, 100), 'urgent')).to.equal(true);
    expect(await hasRoom(memory(95, 100), 'urgent')).to.equal(false);
    expect(await hasRoom(memory(99, 0))).to.equal(true);
  });

  it('is asked for every two seconds at most, and again after a failure', async () => {
    const reader = fakeReader([memory(10, 100), memory(90, 100), new Error('away'), memory(10, 100)]);
    const clock = fakeClock();
    const headroom = new RedisHeadroom(reader.read, clock);
    expect(await Promise.all([headroom.hasRoom('list'), headroom.hasRoom('list')])).to.deep.equal([true, true]);
    expect(reader.asked()).to.equal(1);
    clock.ms = 2_000;
    expect(await headroom.hasRoom('list')).to.equal(false);
    clock.ms = 4_000;
    expect(await headroom.hasRoom('list').catch(() => 'failed')).to.equal('failed');
    expect(await headroom.hasRoom('list')).to.equal(true);
  });

  it('is what is left after 1.4 kB of keys for each waiting recipient', async () => {
    expect(await hasRoom(memory(0, 1_000_000, 500), 'list', 107), '607 people').to.equal(true);
    expect(await hasRoom(memory(0, 1_000_000, 500), 'list', 108), '608 people').to.equal(false);
  });

  const take = (headroom: RedisHeadroom, messages: number, write = async () => {}) =>
    headroom.take({ use: 'list', messages, address: { workspace: 'main', device: 'default' } }, write).then(
      () => true,
      () => false,
    );

  it('counts what is taken at once, of requests that come together too, and what is refused no more', async () => {
    const headroom = headroomOf(memory(0, 1_000_000));
    const refused = await take(headroom, 300, () => Promise.reject(new ApiError('no_device')));
    expect(refused).to.equal(false);
    const taken = await Promise.all(Array.from({ length: 10 }, () => take(headroom, 50)));
    expect(taken, 'half of 607 for a workspace').to.deep.equal([...Array(6).fill(true), ...Array(4).fill(false)]);
    expect(await headroom.hasRoom('list', 307)).to.equal(true);
    expect(await headroom.hasRoom('list', 308)).to.equal(false);
  });

  it('counts what is taken once: by itself until Redis was asked after that, and as what waits from then on', async () => {
    const clock = fakeClock();
    const answers = [memory(0, 1_000_000), memory(0, 1_000_000, 200)];
    const headroom = new RedisHeadroom(fakeReader(answers).read, clock);
    await take(headroom, 200);
    let write = () => {};
    const late = take(headroom, 50, () => new Promise<void>((resolve) => (write = resolve)));
    clock.ms = 2_000;
    expect(await headroom.hasRoom('list', 357), 'what is on its way counts on').to.equal(true);
    expect(await headroom.hasRoom('list', 358)).to.equal(false);
    write();
    await late;
    clock.ms = 4_000;
    expect(await headroom.hasRoom('list', 407)).to.equal(true);
  });

  it('is asked for again, where others took too much, when what this process took is written', async () => {
    const limited = (queued: number) => ({ ...memory(0, 0, queued), backlogLimits: new Map([['main', 20]]) });
    // Redis has the first one by then; that it has is still on its way.
    const reader = fakeReader([limited(0), limited(10)]);
    const taken = { settle: async () => {} };
    const answers = [taken, undefined, taken];
    const headroom = new RedisHeadroom(reader.read, fakeClock(), async () => answers.shift());
    const written = defer<void>();
    const first = take(headroom, 10, () => written.promise);
    const second = take(headroom, 10);
    await eventually(() => reader.asked() === 2, { timeoutMs: 300 }).catch(() => {});
    written.resolve();
    expect([await first, await second]).to.deep.equal([true, true]);
  });

  it('is bounded for a workspace that no answer names, as its list was away: it is asked about by its name', async () => {
    const asked: (readonly string[])[] = [];
    const read = async (_: Capacity | undefined, inUse: readonly string[]) => {
      asked.push(inUse);
      const workspaces = ['default', ...inUse];
      return { ...memory(0, 0), workspaces, backlogLimits: new Map(workspaces.map((name) => [name, 20])) };
    };
    const clock = fakeClock();
    const headroom = new RedisHeadroom(read, clock);
    await headroom.hasRoom('list');
    expect(await Promise.all([take(headroom, 15), take(headroom, 1), take(headroom, 10)])).to.deep.equal([
      ...[true, true],
      false,
    ]);
    expect(asked.slice(0, 2), 'once').to.deep.equal([[], ['main']]);
    const before = asked.length;
    clock.ms = 2_000;
    await take(headroom, 1);
    expect(asked.slice(before), 'at once, from then on').to.deep.equal([['main']]);
  });

  it('is as it was known while a newer answer takes long, and not for longer than five seconds', async () => {
    const clock = fakeClock();
    const late = defer<Capacity>();
    let answer = Promise.resolve(memory(10, 100));
    const headroom = new RedisHeadroom(() => answer, clock);
    await headroom.hasRoom('list');
    answer = late.promise;
    for (clock.ms = 2_000; clock.ms < 5_000; clock.ms += 1_000)
      expect(await headroom.hasRoom('list'), `after ${clock.ms} ms`).to.equal(true);
    const waits = headroom.hasRoom('list');
    expect(await inTime(waits, 300), 'too old').to.equal(false);
    late.resolve(memory(90, 100));
    expect(await waits).to.equal(false);
  });

  it('of a node that was away is asked for again in a moment, where one of its devices is concerned', async () => {
    const address = { workspace: 'main', device: 'default' };
    const isThere = memory(10, 100);
    const ofShards = (room: Capacity | undefined) => ({ ...isThere, ofShards: Array(SHARDS).fill(room) });
    const reader = fakeReader([ofShards(undefined), ofShards(isThere)]);
    const clock = fakeClock();
    const headroom = new RedisHeadroom(reader.read, clock);
    const hasRoom = () => headroom.hasRoom('list', 0, address).catch(() => 'away');
    expect(await hasRoom()).to.equal('away');
    expect(await headroom.hasRoom('urgent'), 'for what lies on the others').to.equal(true);
    clock.ms = 499;
    expect([await hasRoom(), reader.asked()]).to.deep.equal(['away', 1]);
    clock.ms = 500;
    expect(await hasRoom()).to.equal(true);
  });

  it('is not there, but for what is urgent, in a workspace whose limits are not known', async () => {
    const headroom = headroomOf({ ...memory(0, 0), workspaces: ['other'] });
    expect(await take(headroom, 1)).to.equal(false);
    const urgent = { use: 'urgent', messages: 1, address: { workspace: 'main', device: 'default' } } as const;
    expect(await headroom.take(urgent, async () => 'written')).to.equal('written');
  });

  it('is there for small sends while lists wait for all of theirs, but not when that is used', async () => {
    expect(await hasRoom(memory(0, 1_000_000, 607), 'list', 1)).to.equal(false);
    expect(await hasRoom(memory(0, 1_000_000, 607), roomUseOf(10), 10)).to.equal(true);
    expect(await hasRoom(memory(0, 1_000_000, 677), 'small', 2)).to.equal(false);
    expect(await hasRoom(memory(85, 100), 'small')).to.equal(false);
    expect(roomUseOf(11)).to.equal('list');
  });

  it('shows in the metrics', async () => {
    const registry = createMetrics();
    const headroom = headroomOf(memory(10, 1_000, 2));
    addHeadroomMetrics(registry, headroom);
    await headroom.hasRoom('list');
    const shown = await registry.metrics();
    expect(shown).to.match(/^gateway_redis_used_bytes 10$/m);
    expect(shown).to.match(/^gateway_redis_promised_bytes 2800$/m);
    expect(shown).to.match(/^gateway_redis_max_bytes 1000$/m);
  });

  it('for files is a tenth of maxmemory', async () => {
    expect(await headroomOf(memory(0, 1_000)).fileQuotaBytes(7)).to.equal(100);
    expect(await headroomOf(memory(0, 0)).fileQuotaBytes(7)).to.equal(7);
  });
});
