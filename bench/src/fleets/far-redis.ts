import { setPace } from '@gateway/store/devices/devices';
import { testRedisUrl } from '@gateway/testkit/config';
import { makeNumbers } from '@gateway/testkit/phones';
import { startRedisProxy } from '@gateway/testkit/redis-proxy';
import type { Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { timeUntilAcked } from '../support/send.js';
import { openStage } from '../support/stage.js';

const ACCOUNT = '999100000001';
const RECIPIENTS = 1_000;
const ROUND_TRIP_MS = 5;
const DEVICE = { workspace: 'main', device: 'default' };
/** Each message takes a place in it, and none waits for one. */
const PACE = { messagesPerMinute: 600_000, burst: RECIPIENTS, jitter: 0 };

/** Whether the distance to Redis bounds a device. */
export const farRedisBenchmark: Benchmark = {
  name: 'far-redis',
  summary: `messages/s of one device to known recipients, Redis ${ROUND_TRIP_MS} ms away / beside it; a proxy on both sides`,
  goals: [
    { figure: 'ratio', atLeast: 0.8 },
    { figure: 'pacedRatio', atLeast: 0.8 },
  ],
  async run(context) {
    const proxy = await startRedisProxy(testRedisUrl());
    context.lifecycle.add('proxy', async () => proxy.close());
    const stage = await openStage(context, { decryptSample: 0.02, env: { REDIS_URL: proxy.url } });
    await stage.gateway.link(ACCOUNT);
    const to = makeNumbers(RECIPIENTS);
    const send = async (roundTripMs: number) => {
      proxy.setDelay(roundTripMs);
      const ms = await timeUntilAcked(stage, { to });
      await stage.simulator.settle();
      return RECIPIENTS / (ms / 1000);
    };
    context.say('first, the device gets to know the recipients');
    await send(0);
    const unit = 'messages/s';
    const sides = { ours: () => send(ROUND_TRIP_MS), baseline: () => send(0), unit };
    const compared = await compare(context, sides);
    await setPace(stage.space.store, DEVICE, PACE);
    const { ratio: pacedRatio, ...paced } = await compare(context, { ...sides, label: 'with a pace, ' });
    return { ...compared, unit, roundTripMs: ROUND_TRIP_MS, pacedRatio, paced };
  },
};
