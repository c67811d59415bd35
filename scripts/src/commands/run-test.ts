import type { Lifecycle } from '@gateway/runtime/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { launcherConfig } from '../config.js';
import { installPackage, outputOf } from '../install-package.js';
import { removeStaleTests } from '../remove-stale-tests.js';
import { startEmbeddedRedis } from '../start-embedded-redis.js';
import { makeTemporaryFolder } from '../temporary-folder.js';

/** `npm test`: all tests on a Redis of their own. Options go to mocha, such as `--grep`. */
export async function runTest(args: string[], lifecycle: Lifecycle): Promise<number> {
  removeStaleTests();
  await provideCurl();
  const { path } = makeTemporaryFolder(lifecycle, 'test');
  const REDIS_URL = launcherConfig.redisUrl ?? (await startEmbeddedRedis(lifecycle, { folder: path }));
  const module = 'scripts/dist/run-mocha.js';
  return exitCodeOf(startChild(lifecycle, { name: 'mocha', module, args, env: { REDIS_URL }, output: 'inherit' }));
}

/** The README's examples are run as they stand. Where curl cannot be had, their test fails and says so. */
async function provideCurl(): Promise<void> {
  if ((await outputOf('curl', ['--version'])) === undefined) await installPackage({ apt: 'curl', brew: 'curl' });
}
