import { LIMITS } from '@gateway/contracts/limits';
import { makeNumbers } from '@gateway/testkit/phones';
import type { Benchmark } from '../support/benchmark.js';
import { accept, waitForCounts } from '../support/send.js';
import { createCodeSender } from '../support/send-codes.js';
import { openStage, type Stage } from '../support/stage.js';
import { percentile, rounded } from '../support/statistics.js';

const ACCOUNT = '999100000001';
const ROUNDS = 6;
/** A process that has sent few codes still compiles what they go through: the first rounds of both would tell of that. */
const ROUNDS_BEFORE = 3;
const PER_ROUND = 100;

/** Whether an OTP overtakes a campaign. Each goes to a new contact. */
export const otpBenchmark: Benchmark = {
  name: 'otp',
  summary: 'accept-to-ack of one-time passwords while a list of 10,000 runs / on an idle device, p95 and p99',
  goals: [
    { figure: 'p95Ratio', atMost: 2 },
    { figure: 'p99Ratio', atMost: 3 },
  ],
  async run(context) {
    const stage = await openStage(context, { decryptSample: 0.02 });
    await stage.gateway.link(ACCOUNT);
    const send = await createCodeSender(stage, 2 * (ROUNDS_BEFORE + ROUNDS) * PER_ROUND);
    const idle: number[] = [];
    const busy: number[] = [];
    for (let round = 1 - ROUNDS_BEFORE; round <= ROUNDS; round++) {
      const idleNow = await send(PER_ROUND);
      const busyNow = await duringList(stage, round + ROUNDS_BEFORE, () => send(PER_ROUND));
      const of = (times: number[]) => `${rounded(percentile(times, 0.95))} ms`;
      context.say(`round ${round}: p95 ${of(busyNow)} during a list, ${of(idleNow)} on an idle device`);
      if (round < 1) continue;
      idle.push(...idleNow);
      busy.push(...busyNow);
    }
    const [ours, baseline] = [percentile(busy, 0.95), percentile(idle, 0.95)];
    const p99 = { ours: rounded(percentile(busy, 0.99)), baseline: rounded(percentile(idle, 0.99)) };
    const p95Ratio = rounded(ours / baseline);
    return {
      ...{ ratio: p95Ratio, ours: rounded(ours), baseline: rounded(baseline), unit: 'ms (p95)', runs: ROUNDS },
      ...{ p95Ratio, p99Ratio: rounded(p99.ours / p99.baseline), p99, codes: busy.length },
    };
  },
};

/** A list to new contacts, the most expensive kind. What remains of it is cancelled. */
async function duringList<Result>(stage: Stage, round: number, work: () => Promise<Result>): Promise<Result> {
  const to = makeNumbers(LIMITS.maxRecipients, round);
  const messageId = await accept(stage, { to });
  await waitForCounts(stage, { messageId, until: ({ queued }) => queued < to.length });
  const result = await work();
  const { body } = await stage.gateway.call('DELETE', `/messages/${messageId}`);
  if (!body.success) throw new Error('the list was over before the codes were');
  await waitForCounts(stage, { messageId, until: ({ queued }) => queued === 0 });
  await stage.simulator.settle();
  return result;
}
