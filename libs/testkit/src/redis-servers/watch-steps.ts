import type { Redis } from 'ioredis';
import { type Monitor, monitor } from './monitor.js';

/** What changes or reads a Redis in one go: a command, or a script with all that it calls, each as its words. */
export type Step = string[][];

/** All that happens on the server of this client from now on: it is told of a script before what that calls. */
export async function watchSteps(redis: Redis): Promise<Monitor & { steps: readonly Step[] }> {
  const steps: Step[] = [];
  const monitored = await monitor(redis, (command, source) => {
    const last = steps.at(-1);
    if (source === 'lua' && last) last.push(command);
    else steps.push([command]);
  });
  return { ...monitored, steps };
}
