import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { fleetSize } from '../config.js';
import type { Benchmark } from '../support/benchmark.js';
import { fleetAccount, linkDevices } from '../support/link-devices.js';
import { accept, waitForCounts } from '../support/send.js';
import { openStage, type Stage } from '../support/stage.js';
import { rounded } from '../support/statistics.js';
import { watchDowntime } from '../support/watch-downtime.js';

const WHOLE = { devices: 200, senders: 4 };
/** For each device: they outlast the roll, at this pace. */
const RECIPIENTS = 12;
const PACE_PER_MINUTE = 6;
const LOGINS = 1.15;
/** What k8s/base/sender.yaml gives a sender to end in. */
const GRACE_SECONDS = 90;

interface RunningList {
  device: string;
  from: string;
  text: string;
  to: string[];
  messageId: string;
}

/** A new version is rolled out under running lists: one sender after the other is replaced, the new one ready first. */
export const rollBenchmark: Benchmark = {
  name: 'roll',
  summary: `logins per device while ${WHOLE.senders} senders with ${WHOLE.devices} devices are replaced one by one / ${LOGINS}`,
  goals: [
    { figure: 'loginsPerDevice', atMost: LOGINS },
    { figure: 'meanDownSeconds', atMost: 3 },
    { figure: 'worstDownSeconds', atMost: 10 },
    { figure: 'worstDrainSeconds', atMost: GRACE_SECONDS },
    { figure: 'lost', atMost: 0 },
    { figure: 'duplicates', atMost: 0 },
  ],
  async run({ lifecycle, say }) {
    const { devices: count, senders } = fleetSize(WHOLE);
    const env = { PACE_PER_MINUTE: String(PACE_PER_MINUTE) };
    const stage = await openStage({ lifecycle, say }, { senders, env });
    const devices = await linkDevices(stage, count, say);
    const lists = await Promise.all(devices.map((device, index) => startList(stage, device, index)));
    const watch = watchDowntime(stage.simulator);
    lifecycle.add('watch', async () => void (await watch.stop()));
    const loginsBefore = (await stage.simulator.counters()).logins!;
    const startedMs = performance.now();
    const worstDrainSeconds = await replaceSenders(stage, say);
    await watch.untilAllAreUp(count);
    const seconds = (performance.now() - startedMs) / 1000;
    const logins = (await stage.simulator.counters()).logins! - loginsBefore;
    const { meanSeconds, worstSeconds } = await watch.stop();
    const loginsPerDevice = rounded(logins / count);
    say(`rolled in ${rounded(seconds)} s, ${loginsPerDevice} logins and ${rounded(meanSeconds)} s down per device`);
    const { lost, duplicates } = await settle(stage, lists);
    return {
      ...{ ratio: rounded(loginsPerDevice / LOGINS), ours: loginsPerDevice, baseline: LOGINS },
      ...{ unit: 'logins per device', runs: 1, loginsPerDevice },
      ...{ meanDownSeconds: rounded(meanSeconds), worstDownSeconds: rounded(worstSeconds), lost, duplicates },
      ...{ worstDrainSeconds: rounded(worstDrainSeconds), rollSeconds: rounded(seconds) },
    };
  },
};

async function startList(stage: Stage, device: string, index: number): Promise<RunningList> {
  const to = makeNumbers(RECIPIENTS, 1 + index);
  const text = `Hello from ${device}`;
  return { device, from: fleetAccount(index), text, to, messageId: await accept(stage, { device, to, text }) };
}

/** @returns how long the slowest took from SIGTERM to its end, by itself and with no device left to it. */
async function replaceSenders({ gateway }: Stage, say: (line: string) => void): Promise<number> {
  let worst = 0;
  for (const [i, old] of [...gateway.senders].entries()) {
    await gateway.addSender();
    const askedAtMs = performance.now();
    if (!(await old.stop())) throw new Error('a sender had to be killed');
    const seconds = (performance.now() - askedAtMs) / 1000;
    worst = Math.max(worst, seconds);
    say(`sender ${i + 1} replaced, ${rounded(seconds)} s after SIGTERM`);
  }
  return worst;
}

/** Waits until all lists are out, and compares what was promised with what phones show. */
async function settle(stage: Stage, lists: readonly RunningList[]): Promise<{ lost: number; duplicates: number }> {
  const times: number[] = [];
  for (const { device, from, text, to, messageId } of lists) {
    await waitForCounts(stage, { device, messageId, until: ({ queued, sent }) => queued + sent === 0 });
    const rows = (await readDeliveries(stage.simulator, from)).filter((row) => row.text === text);
    const timesTo = (number: string) => rows.reduce((sum, row) => sum + (row.to === number ? row.shown : 0), 0);
    times.push(...to.map(timesTo));
  }
  return { lost: times.filter((shown) => shown === 0).length, duplicates: times.filter((shown) => shown > 1).length };
}
