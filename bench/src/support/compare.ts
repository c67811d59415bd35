import type { BenchContext } from './benchmark.js';
import { median, rounded } from './statistics.js';

export interface Comparison {
  ratio: number;
  ours: number;
  baseline: number;
  /** Ours on the network of 2026, where there is no baseline. */
  on2026?: number;
  runs: number;
}

export interface Sides {
  /** One measurement; `round` counts from 0. */
  ours(round: number): Promise<number>;
  baseline(round: number): Promise<number>;
  /** Ours on the network of 2026: a baseline that is a stock client runs on that of 2025 only. */
  on2026?(round: number): Promise<number>;
  unit: string;
  /** At least 5. */
  rounds?: number;
  /** For the lines. */
  label?: string;
}

/**
 * Measures both sides in turn, who goes first changing each round: what else the machine does then meets both alike.
 * The ratio is that of the medians.
 */
export async function compare({ say }: BenchContext, sides: Sides): Promise<Comparison> {
  const { unit, rounds = 5, label = '' } = sides;
  const found = { ours: [] as number[], baseline: [] as number[], on2026: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (['ours', 'baseline'] as const) : (['baseline', 'ours'] as const);
    for (const side of order) found[side].push(await sides[side](round));
    if (sides.on2026) found.on2026.push(await sides.on2026(round));
    const latest = Object.entries(found).filter(([, values]) => values.length > 0);
    const figures = latest.map(([side, values]) => `${side} ${rounded(values.at(-1)!)} ${unit}`);
    say(`${label}round ${round + 1}: ${figures.join(', ')}`);
  }
  const [ours, baseline] = [median(found.ours), median(found.baseline)];
  const beside = found.on2026.length > 0 ? { on2026: rounded(median(found.on2026)) } : {};
  return { ratio: rounded(ours / baseline), ours: rounded(ours), baseline: rounded(baseline), ...beside, runs: rounds };
}
