import { makeNumbers } from '@gateway/testkit/phones';
import { startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { linkDevices } from '../support/link-devices.js';
import { timeUntilAllAcked } from '../support/send.js';
import { openStage, type Stage } from '../support/stage.js';

const DEVICES = 6;
const RECIPIENTS = 200;

/** What several masters cost who need one only. */
export const clusterBenchmark: Benchmark = {
  name: 'cluster',
  summary: `messages/s of lists of ${DEVICES} devices to known recipients, on a Cluster of three masters / on one Redis`,
  goals: [{ figure: 'ratio', atLeast: 0.8 }],
  async run(context) {
    const cluster = await startRedisCluster();
    context.lifecycle.add('cluster', () => cluster.stop());
    const stages = {
      ours: await openStage(context, { decryptSample: 0.02, redisUrl: cluster.url }),
      baseline: await openStage(context, { decryptSample: 0.02 }),
    };
    const to = makeNumbers(RECIPIENTS);
    const sendOn = (stage: Stage, devices: readonly string[]) => async () => {
      const ms = await timeUntilAllAcked(
        stage,
        devices.map((device) => ({ device, to })),
      );
      await stage.simulator.settle();
      return (DEVICES * RECIPIENTS) / (ms / 1000);
    };
    context.say('first, the devices get to know the recipients');
    const ours = sendOn(stages.ours, await linkDevices(stages.ours, DEVICES, context.say));
    const baseline = sendOn(stages.baseline, await linkDevices(stages.baseline, DEVICES, context.say));
    await ours();
    await baseline();
    const unit = 'messages/s';
    return { ...(await compare(context, { ours, baseline, unit })), unit, devices: DEVICES };
  },
};
