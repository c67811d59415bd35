import type { Redis } from 'ioredis';

/** @param source who sent it, as `CLIENT LIST` has their address; `lua` for what a script calls. */
export type OnCommand = (command: string[], source: string) => void;

export interface Monitor {
  close(): void;
}

/**
 * Tells of each command on the server of this client from now on, by `MONITOR`. In place of `redis.monitor()`, which fails where a
 * command comes together with the answer that it is watching: it calls that an error, and only that command is not told here.
 */
export async function monitor(redis: Redis, onCommand: OnCommand): Promise<Monitor> {
  const connection = redis.duplicate({ monitor: true, lazyConnect: false });
  connection.on('error', () => {});
  connection.on('monitor', (_time: string, command: string[], source: string) => onCommand(command, source));
  await new Promise((resolve) => connection.once('monitoring', resolve));
  return { close: () => connection.disconnect() };
}
