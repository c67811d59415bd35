import { LIMITS } from '@gateway/contracts/limits';
import { makeNumbers } from '@gateway/testkit/phones';
import { addOneJobEach } from '../baselines/bullmq-baseline.js';
import type { Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { accept } from '../support/send.js';
import { openStage } from '../support/stage.js';

const ACCOUNT = '999100000001';

/** How long a caller waits for the promise that a list will be sent. */
export const acceptBenchmark: Benchmark = {
  name: 'accept',
  summary: 'time of POST /send with 10,000 recipients / time of BullMQ addBulk of 10,000 such jobs',
  goals: [{ figure: 'ratio', atMost: 0.05 }],
  async run(context) {
    const stage = await openStage(context, { decryptSample: 0 });
    const { gateway, space } = stage;
    await gateway.link(ACCOUNT);
    // Without its sender the device is restoring: it accepts and queues, and nothing else runs while we measure.
    await gateway.senders[0]!.stop();
    const to = makeNumbers(LIMITS.maxRecipients);
    const ours = async () => {
      const startedMs = performance.now();
      await accept(stage, { to });
      return performance.now() - startedMs;
    };
    const baseline = async () => {
      const { ms, remove } = await addOneJobEach(space, to);
      await remove();
      return ms;
    };
    // Compiles what both sides run.
    await ours();
    await baseline();
    return { ...(await compare(context, { ours, baseline, unit: 'ms', rounds: 9 })), unit: 'ms' };
  },
};
