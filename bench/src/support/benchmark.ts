import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import type { Goal } from './goals.js';

/** Result of a benchmark. `ratio` is `ours / baseline`; the goal says which direction is good. */
export interface Finding {
  ratio: number;
  ours: number;
  baseline: number;
  unit: string;
  /** Measurements of each side that the medians are of. */
  runs: number;
  /** Figures that only this benchmark has. */
  [extra: string]: unknown;
}

export interface BenchContext {
  /** What a benchmark starts is stopped with it. */
  lifecycle: Lifecycle;
  /** A line for people. */
  say(line: string): void;
}

export interface Benchmark {
  name: string;
  /** What is measured against what. */
  summary: string;
  /** What its figures should be: shown, and told as `meets`; a benchmark fails for no figure. */
  goals: readonly Goal[];
  run(context: BenchContext): Promise<Finding>;
}
