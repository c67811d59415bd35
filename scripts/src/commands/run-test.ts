import { createReadStream, openSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Lifecycle } from '@gateway/runtime/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { launcherConfig } from '../config.js';
import { installPackage, outputOf } from '../install-package.js';
import { removeStaleTests } from '../remove-stale-tests.js';
import { shareOutTests } from '../share-out-tests.js';
import { startEmbeddedRedis } from '../start-embedded-redis.js';
import { makeTemporaryFolder } from '../temporary-folder.js';

/**
 * `npm test`: all tests, in two runs side by side with a Redis each: tests mostly wait. What the second run says follows
 * when the first has ended. Options go to mocha, such as `--grep`.
 */
export async function runTest(args: string[], lifecycle: Lifecycle): Promise<number> {
  removeStaleTests();
  await provideCurl();
  const { path } = makeTemporaryFolder(lifecycle, 'test');
  const output = `${path}/second-run.log`;
  const [first, second] = shareOutTests();
  const codes = await Promise.all([
    runMocha(lifecycle, { folder: `${path}/1`, output: 'inherit', args: [...first!, ...args] }),
    runMocha(lifecycle, { folder: `${path}/2`, output: openSync(output, 'w'), args: [...second!, ...args] }),
  ]);
  await pipeline(createReadStream(output), process.stdout, { end: false });
  return Math.max(...codes);
}

async function runMocha(
  lifecycle: Lifecycle,
  { folder, output, args }: { folder: string; output: number | 'inherit'; args: string[] },
): Promise<number> {
  const REDIS_URL = launcherConfig.redisUrl ?? (await startEmbeddedRedis(lifecycle, { folder }));
  const module = 'scripts/dist/run-mocha.js';
  return exitCodeOf(startChild(lifecycle, { name: 'mocha', module, args, env: { REDIS_URL }, output }));
}

/** The README's examples are run as they stand. Where curl cannot be had, their test fails and says so. */
async function provideCurl(): Promise<void> {
  if ((await outputOf('curl', ['--version'])) === undefined) await installPackage({ apt: 'curl', brew: 'curl' });
}
