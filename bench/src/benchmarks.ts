import { acceptBenchmark } from './benchmarks/accept.js';
import { coldBenchmark } from './benchmarks/cold.js';
import { footprintBenchmark } from './benchmarks/footprint.js';
import { handoverBenchmark } from './benchmarks/handover.js';
import { idleBenchmark } from './benchmarks/idle.js';
import { idleCostBenchmark } from './benchmarks/idle-cost.js';
import { intakeBenchmark } from './benchmarks/intake.js';
import { linkedBenchmark } from './benchmarks/linked.js';
import { mediaBenchmark } from './benchmarks/media.js';
import { otpBenchmark } from './benchmarks/otp.js';
import { restartBenchmark } from './benchmarks/restart.js';
import { rollBenchmark } from './benchmarks/roll.js';
import { singleBenchmark } from './benchmarks/single.js';
import { warmBenchmark } from './benchmarks/warm.js';
import { consoleBenchmark } from './console/console.js';
import { eventsBenchmark } from './events/events.js';
import { eventsMemoryBenchmark } from './events/events-memory.js';
import { clusterBenchmark } from './fleets/cluster.js';
import { farRedisBenchmark } from './fleets/far-redis.js';
import { fleetBenchmark } from './fleets/fleet.js';
import { fleetListsBenchmark } from './fleets/fleet-lists.js';
import { singlesBenchmark } from './fleets/singles.js';
import { httpBenchmark } from './http/http.js';
import { httpSendBenchmark } from './http/http-send.js';
import { simulatedFleetBenchmark } from './simulated-fleet/simulated-fleet.js';
import type { Benchmark } from './support/benchmark.js';

/** Every benchmark there is, by the name that `npm run bench -- NAME` takes. */
export const BENCHMARKS: readonly Benchmark[] = [
  acceptBenchmark,
  footprintBenchmark,
  warmBenchmark,
  eventsBenchmark,
  eventsMemoryBenchmark,
  consoleBenchmark,
  coldBenchmark,
  otpBenchmark,
  idleBenchmark,
  mediaBenchmark,
  handoverBenchmark,
  rollBenchmark,
  restartBenchmark,
  singleBenchmark,
  idleCostBenchmark,
  simulatedFleetBenchmark,
  httpBenchmark,
  httpSendBenchmark,
  singlesBenchmark,
  fleetBenchmark,
  fleetListsBenchmark,
  clusterBenchmark,
  farRedisBenchmark,
  intakeBenchmark,
  linkedBenchmark,
];
