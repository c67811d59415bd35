import { sleep } from '@gateway/runtime/clock';
import { makeNumbers } from '@gateway/testkit/phones';
import { startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { BenchContext, Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { countCommands } from '../support/count-commands.js';
import { linkDevices } from '../support/link-devices.js';
import { countConnections } from '../support/process-usage.js';
import { timeUntilAllAcked } from '../support/send.js';
import { openStage, type Stage } from '../support/stage.js';
import { rounded, sum } from '../support/statistics.js';

const DEVICES = 6;
const RECIPIENTS = 200;
const IDLE_SECONDS = 20;

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
    const found = await compare(context, { ours, baseline, unit });
    const masters = cluster.shards.map(({ master }) => master.ownUrl);
    return {
      ...{ ...found, unit, devices: DEVICES },
      onCluster: await countCosts(context, stages.ours, { urls: masters, send: ours }),
      onOne: await countCosts(context, stages.baseline, { urls: [stages.baseline.space.url], send: baseline }),
    };
  },
};

/** Commands of all processes, on all masters; connections of the sender, to all of them. */
async function countCosts(
  { lifecycle, say }: BenchContext,
  { space, gateway }: Stage,
  { urls, send }: { urls: readonly string[]; send(): Promise<unknown> },
) {
  const { clients } = space;
  const taking = await Promise.all(urls.map((url) => countCommands(lifecycle, { url, clients })));
  const take = () => sum(taking.map((counts) => counts().commands));
  say(`what ${urls.length} masters are asked`);
  take();
  await sleep(IDLE_SECONDS * 1000);
  const idleCommandsPerSecond = rounded(take() / IDLE_SECONDS);
  await send();
  const commandsPerMessage = rounded(take() / (DEVICES * RECIPIENTS));
  const { pid } = gateway.senders[0]!;
  const connectionsOfSender = sum(urls.map((url) => countConnections(pid, Number(new URL(url).port))));
  return { idleCommandsPerSecond, commandsPerMessage, connectionsOfSender };
}
