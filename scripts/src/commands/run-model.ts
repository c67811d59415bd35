import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { startEmbeddedRedis } from '../redis/start-embedded-redis.js';
import { makeTemporaryFolder } from '../temporary-folder.js';
import { removeStaleTests } from '../tests/remove-stale-tests.js';

const USAGE = 'npm run model -- [--sequences 100000] [--seed N]';
const HALVES = ['first', 'second'];
/** More than a run has seeds for its sequences. */
const SEEDS_OF_A_HALF = 1_000_000;

/**
 * `npm run model`: compares more random sequences of what happens to sends with the store than `npm test` does, in two
 * processes with a Redis each. Says the seed, with which the same sequences are made again.
 */
export async function runModel(args: string[], lifecycle: Lifecycle): Promise<number> {
  const { values } = parseArgs({ args, options: { sequences: { type: 'string' }, seed: { type: 'string' } } });
  const sequences = Number(values.sequences ?? 100_000);
  const seed = Number(values.seed ?? randomInt(2 ** 30));
  if (!(sequences >= 1) || !Number.isSafeInteger(seed)) throw new GatewayError({ code: 'usage', message: USAGE });
  removeStaleTests();
  console.log(`${sequences} sequences, seed ${seed}`);
  const { path } = makeTemporaryFolder(lifecycle, 'model');
  const codes = await Promise.all(
    HALVES.map(async (half, i) => {
      const file = `build/tests/libs/store/test/model/lifecycle-${half}-half.test.js`;
      const settings = {
        REDIS_URL: await startEmbeddedRedis(lifecycle, { folder: `${path}/${half}` }),
        MODEL_SEED: String(seed + i * SEEDS_OF_A_HALF),
        MODEL_SEQUENCES: String(Math.ceil(sequences / HALVES.length)),
      };
      const mocha = { name: 'mocha', module: 'scripts/dist/tests/run-mocha.js', args: ['--no-config', file] };
      return exitCodeOf(startChild(lifecycle, { ...mocha, env: settings, output: 'inherit' }));
    }),
  );
  return Math.max(...codes);
}
