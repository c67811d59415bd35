import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { findRedisServer } from '../redis/find-redis-server.js';

/** `npm run chaos`: the gateway under everything that can go wrong, on a Redis that is killed as well. */
export async function runChaos(args: string[], lifecycle: Lifecycle): Promise<number> {
  await findRedisServer();
  const module = 'libs/testkit/dist/chaos/main.js';
  return exitCodeOf(startChild(lifecycle, { name: 'chaos', module, args, env: {}, output: 'inherit' }));
}
