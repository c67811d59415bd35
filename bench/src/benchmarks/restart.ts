import { sleep } from '@gateway/runtime/clock';
import { LASTED_MS } from '@gateway/store/fleet/starts/start-pause';
import { makeNumbers } from '@gateway/testkit/phones';
import type { Benchmark } from '../support/benchmark.js';
import { readResidentBytes } from '../support/process-usage.js';
import { accept, waitForCounts } from '../support/send.js';
import { openStage, type Stage } from '../support/stage.js';
import { median, rounded } from '../support/statistics.js';

const ACCOUNT = '999100000001';
const ROUNDS = 5;
const LIST = 4_000;
const SETTLE_MS = 5_000;
const POLL_MS = 10;
const SECONDS = 3;
const MB = 1024 * 1024;

/** How long a device of a small installation is without its process, when that is killed and started again at once. */
export const restartBenchmark: Benchmark = {
  name: 'restart',
  summary: `seconds from SIGKILL, with a restart at once, until the next ack of a device in mid-list / ${SECONDS}`,
  goals: [
    { figure: 'restartSeconds', atMost: SECONDS },
    { figure: 'baseMb', atMost: 160 },
  ],
  async run({ lifecycle, say }) {
    const stage = await openStage(
      { lifecycle, say },
      {
        decryptSample: 0,
        inOneProcess: true,
        // The flag that `npm start` sets: see start-gateway.ts.
        env: { INSTANCE_NAME: 'bench', NODE_OPTIONS: '--max-semi-space-size=8' },
      },
    );
    await sleep(SETTLE_MS);
    const baseMb = readResidentBytes(stage.gateway.api.pid) / MB;
    await stage.gateway.link(ACCOUNT);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      // A device whose owners die one after the other rests: here each death shall be a first one.
      if (round > 0) await sleep(LASTED_MS);
      times.push(await timeRestart(stage));
      say(`round ${round + 1}: next ack after ${rounded(times.at(-1)!)} s`);
    }
    const restartSeconds = rounded(median(times));
    return {
      ratio: rounded(restartSeconds / SECONDS),
      ours: restartSeconds,
      baseline: SECONDS,
      unit: 's',
      runs: ROUNDS,
      restartSeconds,
      baseMb: rounded(baseMb),
    };
  },
};

async function timeRestart(stage: Stage): Promise<number> {
  const { gateway, simulator } = stage;
  const messageId = await accept(stage, { to: makeNumbers(LIST) });
  await waitForCounts(stage, { messageId, until: ({ queued }) => queued < LIST - 200 });
  const startedMs = performance.now();
  await gateway.api.kill();
  // What it had written is taken still: that is no ack of the next.
  const loginsBefore = (await simulator.counters()).logins!;
  const ready = gateway.startAgain();
  while ((await simulator.counters()).logins === loginsBefore) await sleep(POLL_MS);
  const acksBefore = (await simulator.counters()).acks!;
  while ((await simulator.counters()).acks === acksBefore) await sleep(POLL_MS);
  const seconds = (performance.now() - startedMs) / 1000;
  await ready;
  await gateway.call('DELETE', `/messages/${messageId}`);
  await waitForCounts(stage, { messageId, until: ({ queued }) => queued === 0 });
  await simulator.settle();
  return seconds;
}
