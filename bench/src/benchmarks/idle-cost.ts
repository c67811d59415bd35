import { sleep } from '@gateway/runtime/clock';
import { Redis } from 'ioredis';
import { fleetSize } from '../config.js';
import type { Benchmark } from '../support/benchmark.js';
import { countCommands } from '../support/count-commands.js';
import { linkDevices } from '../support/link-devices.js';
import { countConnections } from '../support/process-usage.js';
import { openStage, type Stage } from '../support/stage.js';
import { rounded } from '../support/statistics.js';

const WHOLE = { devices: 300, senders: 2 };
const SECONDS = 60;
const SETTLE_MS = 5_000;
const COMMANDS_PER_SECOND = 150;

/** What a fleet asks of Redis while nothing is to be done. */
export const idleCostBenchmark: Benchmark = {
  name: 'idle-cost',
  summary: `commands/s that two senders, api and connection send with ${WHOLE.devices} idle devices / ${COMMANDS_PER_SECOND}`,
  goals: [
    { figure: 'perDevice', atMost: 0.1 },
    { figure: 'commandsPerSecond', atMost: COMMANDS_PER_SECOND },
    { figure: 'connectionsPerProcess', atMost: 12 },
  ],
  async run({ lifecycle, say }) {
    const { devices, senders } = fleetSize(WHOLE);
    const stage = await openStage({ lifecycle, say }, { decryptSample: 0, senders });
    const takeCounts = await countCommands(lifecycle, stage.space);
    const perSecond = async () => {
      await sleep(SETTLE_MS);
      takeCounts();
      await sleep(SECONDS * 1000);
      return takeCounts().commands / SECONDS;
    };
    const empty = await perSecond();
    say(`without devices: ${rounded(empty)} commands/s`);
    await linkDevices(stage, devices, say);
    await stage.simulator.settle();
    const full = await perSecond();
    say(`with ${devices}: ${rounded(full)} commands/s`);
    return {
      ratio: rounded(full / COMMANDS_PER_SECOND),
      ours: rounded(full),
      baseline: COMMANDS_PER_SECOND,
      unit: 'commands/s',
      runs: 1,
      commandsPerSecond: rounded(full),
      withoutDevices: rounded(empty),
      perDevice: rounded((full - empty) / devices),
      ...(await readConnections(stage)),
    };
  },
};

/** Connections of the sender that has most, and clients that wait in a blocking command. */
async function readConnections({ space, gateway }: Stage): Promise<{ connectionsPerProcess: number; blocked: number }> {
  const redis = new Redis(space.url);
  const blocked = Number(/^blocked_clients:(\d+)/m.exec(await redis.info('clients'))![1]);
  redis.disconnect();
  const port = Number(new URL(space.url).port);
  const perSender = gateway.senders.map(({ pid }) => countConnections(pid, port));
  return { connectionsPerProcess: Math.max(...perSender), blocked };
}
