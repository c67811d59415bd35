import type { BenchContext } from './benchmark.js';
import { median, rounded } from './statistics.js';

export interface Comparison {
  ratio: number;
  ours: number;
  baseline: number;
  runs: number;
}

export interface Sides {
  /** One measurement; `round` counts from 0. */
  ours(round: number): Promise<number>;
  baseline(round: number): Promise<number>;
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
  const found = { ours: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (['ours', 'baseline'] as const) : (['baseline', 'ours'] as const);
    for (const side of order) found[side].push(await sides[side](round));
    const [ours, baseline] = [found.ours.at(-1)!, found.baseline.at(-1)!];
    say(`${label}round ${round + 1}: ours ${rounded(ours)} ${unit}, baseline ${rounded(baseline)} ${unit}`);
  }
  const [ours, baseline] = [median(found.ours), median(found.baseline)];
  return { ratio: rounded(ours / baseline), ours: rounded(ours), baseline: rounded(baseline), runs: rounds };
}
