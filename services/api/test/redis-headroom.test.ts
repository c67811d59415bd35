import { addHeadroomMetrics } from '@gateway/api/sends/headroom-metrics';
import { RedisHeadroom } from '@gateway/api/sends/redis-headroom';
import { createMetrics } from '@gateway/runtime/process/metrics';
import type { Capacity } from '@gateway/store/core/capacity';
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
  ...{ usedBytes, limitBytes, queuedMessages, fileBytes: 0 },
});
const fakeClock = () => {
  const clock = { ms: 0, nowMs: () => clock.ms, monotonicMs: () => clock.ms };
  return clock;
};

describe('room in Redis', () => {
  const headroomOf = (capacity: Capacity) => new RedisHeadroom(fakeReader([capacity]).read, fakeClock());
  const hasRoom = (capacity: Capacity, use?: 'lists' | 'urgent', messages?: number) =>
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
    expect(await Promise.all([headroom.hasRoom(), headroom.hasRoom()])).to.deep.equal([true, true]);
    expect(reader.asked()).to.equal(1);
    clock.ms = 2_000;
    expect(await headroom.hasRoom()).to.equal(false);
    clock.ms = 4_000;
    expect(await headroom.hasRoom().catch(() => 'failed')).to.equal('failed');
    expect(await headroom.hasRoom()).to.equal(true);
  });

  it('is what is left after 1.4 kB of keys for each waiting recipient', async () => {
    expect(await hasRoom(memory(0, 1_000_000, 500), 'lists', 107), '607 people').to.equal(true);
    expect(await hasRoom(memory(0, 1_000_000, 500), 'lists', 108), '608 people').to.equal(false);
  });

  it('counts what is taken at once, of requests that come together too', async () => {
    const headroom = headroomOf(memory(0, 1_000_000));
    const taken = await Promise.allSettled(Array.from({ length: 10 }, () => headroom.take('lists', 100)));
    expect(taken.map(({ status }) => status === 'fulfilled')).to.deep.equal([
      ...Array(6).fill(true),
      ...Array(4).fill(false),
    ]);
  });

  it('shows in the metrics', async () => {
    const registry = createMetrics('api');
    const headroom = headroomOf(memory(10, 1_000, 2));
    addHeadroomMetrics(registry, headroom);
    await headroom.hasRoom();
    const shown = await registry.metrics();
    expect(shown).to.match(/^gateway_redis_bytes\{kind="used",.*\} 10$/m);
    expect(shown).to.match(/^gateway_redis_bytes\{kind="promised",.*\} 2800$/m);
    expect(shown).to.match(/^gateway_redis_bytes\{kind="limit",.*\} 1000$/m);
  });

  it('for files is a tenth of maxmemory', async () => {
    expect(await headroomOf(memory(0, 1_000)).fileQuotaBytes(7)).to.equal(100);
    expect(await headroomOf(memory(0, 0)).fileQuotaBytes(7)).to.equal(7);
  });
});
