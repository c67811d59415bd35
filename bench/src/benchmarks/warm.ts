import { makeNumbers } from '@gateway/testkit/phones';
import type { Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { openRace } from '../support/open-race.js';

const RECIPIENTS = 1_000;

/** What the gateway around a socket costs: queue, records, ownerships, fences, receipts. */
export const warmBenchmark: Benchmark = {
  name: 'warm',
  summary: 'messages/s to known recipients, accepted to acked, through the whole gateway / a stock Baileys loop',
  goals: [{ figure: 'ratio', atLeast: 1.4 }],
  async run(context) {
    const race = await openRace(context);
    const to = makeNumbers(RECIPIENTS);
    const sides = {
      ours: () => race.ours(to),
      baseline: () => race.baseline(to),
      on2026: () => race.on2026(to),
      unit: 'messages/s',
      rounds: 7,
    };
    context.say('first, both get to know the recipients');
    await sides.ours();
    await sides.baseline();
    await sides.on2026();
    race.takeCpu();
    const found = await compare(context, sides);
    const cpu = race.takeCpu();
    return { ...found, unit: sides.unit, cpuMsPerMessage: cpu.msPerMessage, cpuRatio: cpu.ratio };
  },
};
