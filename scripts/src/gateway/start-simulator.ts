import { createInterface } from 'node:readline';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { failWhenEnded, startChild } from '../child-process.js';
import { SIMULATOR_MODULE } from '../paths.js';

export interface RunningSimulator {
  /** For `MESSENGER_URL`. */
  socketUrl: string;
  /** Where its control API is. */
  adminUrl: string;
  /** For `MESSENGER_TRUST`. */
  rootPublicKeyHex: string;
  ended: Promise<never>;
}

export interface SimulatorOptions {
  args?: string[];
  env?: Record<string, string>;
  /** Gets what it prints, apart from the line that says it is ready. */
  onLine: (line: string) => void;
}

/**
 * It is to take what clients on the other cores can send, so it keeps to one: the collector's helpers cost more there than
 * they save here.
 */
const NODE_FLAGS = ['--single-threaded-gc'];

/** Starts the stand-in for the messenger network and waits until it listens. */
export async function startSimulator(lifecycle: Lifecycle, options: SimulatorOptions): Promise<RunningSimulator> {
  const { args = [], env = {}, onLine } = options;
  const simulator = { name: 'simulator', module: SIMULATOR_MODULE, args, nodeFlags: NODE_FLAGS, env };
  const child = startChild(lifecycle, { ...simulator, output: 'pipe' });
  const ended = failWhenEnded('simulator', child, lifecycle);
  ended.catch(() => {});
  const ready = new Promise<Omit<RunningSimulator, 'ended'>>((resolve) => {
    createInterface({ input: child.process.stdout! }).on('line', (line) => {
      const facts = readReadyLine(line);
      if (facts) resolve(facts);
      else onLine(line);
    });
    createInterface({ input: child.process.stderr! }).on('line', onLine);
  });
  return { ...(await Promise.race([ready, ended])), ended };
}

function readReadyLine(line: string): Omit<RunningSimulator, 'ended'> | undefined {
  if (!line.startsWith('{"ready":true')) return undefined;
  const { socketUrl, adminUrl, rootPublicKeyHex } = JSON.parse(line);
  return { socketUrl, adminUrl, rootPublicKeyHex };
}

/** Settings of services that shall take this simulator for the network. */
export function simulatorEnvironment({ socketUrl, rootPublicKeyHex }: RunningSimulator): Record<string, string> {
  return { MESSENGER_URL: socketUrl, MESSENGER_TRUST: `root:${rootPublicKeyHex}` };
}
