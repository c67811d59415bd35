import { RedisHeadroom } from '@gateway/api/redis-headroom';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { startTestApi } from './support/test-api.js';

function fakeRedis(answers: (string | Error)[]) {
  let asked = 0;
  return {
    info: async () => {
      const answer = answers[Math.min(asked++, answers.length - 1)]!;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    asked: () => asked,
  };
}
const memory = (used: number, max: number) =>
  `# Memory\r\nused_memory:${used}\r\nused_memory_human:1M\r\nmaxmemory:${max}\r\nmaxmemory_policy:noeviction\r\n`;
const fakeClock = () => {
  const clock = { ms: 0, nowMs: () => clock.ms, monotonicMs: () => clock.ms };
  return clock;
};

describe('room in Redis', () => {
  const hasRoom = (info: string) => {
    const redis = fakeRedis([info]);
    return new RedisHeadroom(redis as never, fakeClock()).hasRoom();
  };

  it('ends at 85 % of maxmemory, and never without one', async () => {
    expect(await hasRoom(memory(84, 100))).to.equal(true);
    expect(await hasRoom(memory(85, 100))).to.equal(false);
    expect(await hasRoom(memory(99, 0))).to.equal(true);
  });

  it('is asked for every two seconds at most, and again after a failure', async () => {
    const redis = fakeRedis([memory(10, 100), memory(90, 100), new Error('away'), memory(10, 100)]);
    const clock = fakeClock();
    const headroom = new RedisHeadroom(redis as never, clock);
    expect(await Promise.all([headroom.hasRoom(), headroom.hasRoom()])).to.deep.equal([true, true]);
    expect(redis.asked()).to.equal(1);
    clock.ms = 2_000;
    expect(await headroom.hasRoom()).to.equal(false);
    clock.ms = 4_000;
    expect(await headroom.hasRoom().catch(() => 'failed')).to.equal('failed');
    expect(await headroom.hasRoom()).to.equal(true);
  });

  describe('for POST /send', () => {
    let space: RedisSpace;
    before(async () => {
      space = await openRedisSpace();
    });
    after(() => space.close());

    it('refuses new sends with 503 while there is none; everything else goes on', async () => {
      const full = new RedisHeadroom(fakeRedis([memory(90, 100)]) as never, fakeClock());
      const api = await startTestApi(space, { headroom: full });
      await linkDevice(space.store);
      const { status, body, headers } = await api.call('POST', '/send', {
        json: { to: '447700900001', text: 'hello' },
      });
      expect(status).to.equal(503);
      expect(body).to.deep.equal({ success: false, error: 'Service unavailable' });
      expect(headers.get('retry-after')).to.equal('30');
      expect((await api.call('GET', '/status')).status).to.equal(200);
      await api.close();
    });
  });
});
