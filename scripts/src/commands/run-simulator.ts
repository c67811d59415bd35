import type { Lifecycle } from '@gateway/runtime/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { SIMULATOR_MODULE } from '../paths.js';
import { simulatorFlags } from '../simulator-flags.js';

/** `npm run simulator -- --port 9000`: the stand-in network alone, for gateways and clients that run elsewhere. */
export async function runSimulator(args: string[], lifecycle: Lifecycle): Promise<number> {
  const env = simulatorFlags(args);
  return exitCodeOf(startChild(lifecycle, { name: 'simulator', module: SIMULATOR_MODULE, env, output: 'inherit' }));
}
