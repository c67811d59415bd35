import { setPace } from '@gateway/store/devices/devices';
import { makeNumbers } from '@gateway/testkit/phones';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { fleetSize } from '../config.js';
import type { Benchmark } from '../support/benchmark.js';
import { redisPid, watchCpu } from '../support/process-usage.js';
import { timeUntilAllAcked } from '../support/send.js';
import { gatewayProcesses } from '../support/stage.js';
import { mediansByKind, rounded, sum } from '../support/statistics.js';
import { openFleets } from './open-fleets.js';

const WHOLE = { devices: 300, senders: 2 };
const PER_MINUTE = 20;
const SECONDS = 60;

/** A whole fleet as it is most of the time: every device sends slowly, to people it knows. */
export const fleetBenchmark: Benchmark = {
  name: 'fleet',
  summary: `CPU per message of ${WHOLE.devices} devices on ${WHOLE.senders} senders at ${PER_MINUTE} a minute, all processes and Redis / stock clients with a BullMQ job per message`,
  goals: [{ figure: 'ratio', atMost: 0.8 }],
  async run(context) {
    const size = fleetSize(WHOLE);
    const { stage, devices, stock } = await openFleets(context, size);
    const redis = await RedisProcess.start();
    context.lifecycle.add('redis of the baseline', () => redis.stop());
    const numbers = makeNumbers(PER_MINUTE);
    const text = 'Hello from a benchmark';
    const lists = devices.map((device) => ({ device, to: numbers, text }));
    context.say('both get to know the recipients');
    await timeUntilAllAcked(stage, lists);
    await Promise.all(stock.map((child) => child.call('send', { numbers, text, inFlight: 1 })));
    const pace = { messagesPerMinute: PER_MINUTE, burst: 1, jitter: 0 };
    await Promise.all(devices.map((device) => setPace(stage.space.store, { workspace: 'main', device }, pace)));
    await stage.simulator.settle();

    const used = watchCpu(await gatewayProcesses(stage));
    const usedByStock = watchCpu({ stock: stock.map(({ pid }) => pid), redis: [await redisPid(redis.url)] });
    context.say(`${SECONDS} s of both at once: what else the machine does meets them alike`);
    const everyMs = (SECONDS * 1000) / PER_MINUTE;
    const startedMs = performance.now();
    const paced = { redisUrl: redis.url, numbers, text, everyMs };
    await Promise.all([
      timeUntilAllAcked(stage, lists, { pollMs: 1_000 }),
      ...stock.map((child) => child.call('sendPaced', paced)),
    ]);
    const seconds = (performance.now() - startedMs) / 1000;
    await stage.simulator.settle();
    const messages = size.devices * PER_MINUTE;
    const ofProcesses = used(messages);
    const ours = sum(Object.values(ofProcesses));
    const baseline = sum(Object.values(usedByStock(messages)));
    return {
      ...{ ratio: rounded(ours / baseline), ours: rounded(ours), baseline: rounded(baseline) },
      ...{ unit: 'ms of CPU per message', runs: 1, seconds: rounded(seconds), ...size },
      ofProcesses: mediansByKind([ofProcesses]),
    };
  },
};
