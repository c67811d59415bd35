import { makeNumbers } from '@gateway/testkit/phones';
import type { BenchContext, Benchmark } from '../support/benchmark.js';
import { type Comparison, compare } from '../support/compare.js';
import { openRace, type Race } from '../support/open-race.js';

const RECIPIENTS = 1_000;
const UNIT = 'messages/s';

/** A campaign to new contacts only: lookups, key bundles, sessions. */
export const coldBenchmark: Benchmark = {
  name: 'cold',
  summary: 'messages/s to 1,000 never-seen recipients, round trip 0 and 100 ms / a stock Baileys loop',
  goals: [
    { figure: 'ratios.rtt0', atLeast: 3 },
    { figure: 'ratios.rtt100', atLeast: 40 },
  ],
  async run(context) {
    const race = await openRace(context);
    const nearby = await measure(context, race, { roundTripMs: 0, baselineRecipients: 300, series: 1 });
    const cpuMsPerMessage = race.takeCpu().msPerMessage;
    const faraway = await measure(context, race, { roundTripMs: 100, baselineRecipients: 50, series: 101 });
    return {
      ...nearby,
      unit: UNIT,
      cpuMsPerMessage,
      ratios: { rtt0: nearby.ratio, rtt100: faraway.ratio },
      rtt100: { ours: faraway.ours, baseline: faraway.baseline, on2026: faraway.on2026 },
    };
  },
};

async function measure(
  context: BenchContext,
  race: Race,
  setting: { roundTripMs: number; baselineRecipients: number; series: number },
): Promise<Comparison> {
  const { roundTripMs, baselineRecipients, series } = setting;
  await race.setRoundTripMs(roundTripMs);
  return compare(context, {
    // Each pair of sender and recipient is used once.
    ours: (round) => race.ours(makeNumbers(RECIPIENTS, series + round)),
    baseline: (round) => race.baseline(makeNumbers(baselineRecipients, series + 50 + round)),
    on2026: (round) => race.on2026(makeNumbers(RECIPIENTS, series + round)),
    unit: UNIT,
    label: `round trip ${roundTripMs} ms, `,
  });
}
