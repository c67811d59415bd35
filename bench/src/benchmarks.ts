import { acceptBenchmark } from './accept.js';
import { coldBenchmark } from './cold.js';
import { footprintBenchmark } from './footprint.js';
import { handoverBenchmark } from './handover.js';
import { httpBenchmark } from './http.js';
import { idleBenchmark } from './idle.js';
import { intakeBenchmark } from './intake.js';
import { linkedBenchmark } from './linked.js';
import { mediaBenchmark } from './media.js';
import { otpBenchmark } from './otp.js';
import type { Benchmark } from './support/benchmark.js';
import { warmBenchmark } from './warm.js';

/** Every benchmark there is, by the name that `npm run bench -- NAME` takes. */
export const BENCHMARKS: readonly Benchmark[] = [
  acceptBenchmark,
  footprintBenchmark,
  warmBenchmark,
  coldBenchmark,
  otpBenchmark,
  idleBenchmark,
  mediaBenchmark,
  handoverBenchmark,
  httpBenchmark,
  intakeBenchmark,
  linkedBenchmark,
];
