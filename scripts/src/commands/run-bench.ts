import { existsSync } from 'node:fs';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { launcherConfig } from '../config.js';
import { ROOT } from '../paths.js';
import { startEmbeddedRedis } from '../redis/start-embedded-redis.js';
import { makeTemporaryFolder } from '../temporary-folder.js';

const MODULE = 'bench/dist/main.js';

/** `npm run bench`: the benchmarks, on a Redis of their own. */
export async function runBench(args: string[], lifecycle: Lifecycle): Promise<number> {
  if (!existsSync(ROOT + MODULE)) throw new GatewayError({ code: 'no_bench', message: 'There are no benchmarks yet.' });
  const { path } = makeTemporaryFolder(lifecycle, 'bench');
  const REDIS_URL = launcherConfig.redisUrl ?? (await startEmbeddedRedis(lifecycle, { folder: path }));
  return exitCodeOf(
    startChild(lifecycle, { name: 'bench', module: MODULE, args, env: { REDIS_URL }, output: 'inherit' }),
  );
}
