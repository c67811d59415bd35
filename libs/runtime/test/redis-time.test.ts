import { clockAheadMs, setClockAhead, sleep, systemClock } from '@gateway/runtime/clock';
import { followRedisTime } from '@gateway/runtime/redis/redis-time';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

const AN_HOUR_MS = 3_600_000;

describe('the time of Redis', () => {
  const server = { asked: 0, aheadMs: 0, answersAfterMs: 0, isSlowBack: false };
  const redis = {
    async time(): Promise<[number, number]> {
      server.asked++;
      const { answersAfterMs, isSlowBack } = server;
      // The first answers come in no time, however busy the machine is.
      if (answersAfterMs > 0 && !isSlowBack) await sleep(answersAfterMs);
      const nowMs = Date.now() + server.aheadMs;
      if (answersAfterMs > 0 && isSlowBack) await sleep(answersAfterMs);
      return [Math.floor(nowMs / 1000), (nowMs % 1000) * 1000];
    },
  };
  let stop: () => void;
  const follow = async () => {
    Object.assign(server, { asked: 0, aheadMs: 0, answersAfterMs: 0 });
    stop = await followRedisTime(redis, { askEveryMs: 1 });
  };
  afterEach(() => {
    stop();
    setClockAhead(0);
  });

  for (const isSlowBack of [true, false])
    it(`does not turn back a clock while answers are slow: on the way ${isSlowBack ? 'back' : 'there'}`, async () => {
      await follow();
      Object.assign(server, { answersAfterMs: 50, isSlowBack });
      const from = server.asked;
      let latestMs = 0;
      let turnedBackMs = 0;
      await eventually(
        () => {
          const nowMs = systemClock.nowMs();
          turnedBackMs = Math.max(turnedBackMs, latestMs - nowMs);
          latestMs = Math.max(latestMs, nowMs);
          return server.asked > from + 200;
        },
        { everyMs: 1 },
      );
      expect(turnedBackMs).to.be.at.most(3);
      expect(Math.abs(clockAheadMs())).to.be.at.most(3);
    });

  it('is followed where it is another one', async () => {
    await follow();
    server.aheadMs = AN_HOUR_MS;
    await eventually(() => Math.abs(systemClock.nowMs() - Date.now() - AN_HOUR_MS) < 100);
  });
});
