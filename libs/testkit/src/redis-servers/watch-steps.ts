import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { eventually } from '../eventually.js';
import { allScripts, nameOfScript } from './all-scripts.js';
import { type Monitor, monitor } from './monitor.js';

/** What changes or reads a Redis in one go: a command, or a script with all that it calls, each as its words. */
export type Step = string[][];

export interface WatchedSteps extends Monitor {
  readonly steps: readonly Step[];
  /** Resolves once all that this client was answered until now is among the steps. */
  catchUp(): Promise<void>;
}

/**
 * All that happens on the server of this client from now on: it is told of a script before what that calls. The server knows every
 * script then, so that each runs by its hash, which names it.
 */
export async function watchSteps(redis: Redis): Promise<WatchedSteps> {
  await Promise.all(
    (await allScripts()).flatMap(({ onOne, onCluster }) =>
      [onOne, onCluster].map(({ lua }) => redis.script('LOAD', lua)),
    ),
  );
  const steps: Step[] = [];
  const monitored = await monitor(redis, (command, source) => {
    const last = steps.at(-1);
    if (source === 'lua' && last) last.push(command);
    else steps.push([command]);
  });
  const catchUp = async () => {
    const mark = randomUUID();
    await redis.echo(mark);
    await eventually(() => steps.some(([command]) => command!.includes(mark)), { what: 'MONITOR tells the last step' });
  };
  return { ...monitored, steps, catchUp };
}

/** Of a script, that of its Lua file; else of the command. */
export function nameOfStep(step: Step): string {
  const [command, sha] = step[0]!;
  return nameOfScript(sha ?? '') ?? command!.toLowerCase();
}
