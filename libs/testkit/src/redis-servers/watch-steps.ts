import type { Redis } from 'ioredis';

/** What changes or reads a Redis in one go: a command, or a script with all that it calls, each as its words. */
export type Step = string[][];

export interface WatchedSteps {
  steps: readonly Step[];
  close(): void;
}

/** All that happens on the server of this client from now on, by `MONITOR`, which tells a script before what it calls. */
export async function watchSteps(redis: Redis): Promise<WatchedSteps> {
  const connection = redis.duplicate();
  const monitor = await connection.monitor();
  const steps: Step[] = [];
  monitor.on('monitor', (_time: string, command: string[], source: string) => {
    const last = steps.at(-1);
    if (source === 'lua' && last) last.push(command);
    else steps.push([command]);
  });
  return {
    steps,
    close() {
      monitor.disconnect();
      connection.disconnect();
    },
  };
}
