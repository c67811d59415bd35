import { parseArgs } from 'node:util';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/lifecycle';
import { launcherConfig } from '../config.js';
import { makeSandbox } from '../mutation/make-sandbox.js';
import { mutateLua } from '../mutation/mutate-lua.js';
import { type MutatedPackage, runStryker } from '../mutation/run-stryker.js';
import { removeStaleTests } from '../remove-stale-tests.js';
import { startEmbeddedRedis } from '../start-embedded-redis.js';
import { makeTemporaryFolder } from '../temporary-folder.js';

const PACKAGES: Record<string, MutatedPackage> = {
  contracts: { mutate: ['libs/contracts/dist/*.js'], tests: ['build/tests/libs/contracts/test/**/!(*.long).test.js'] },
  store: { mutate: ['libs/store/dist/*.js'], tests: ['build/tests/libs/store/test/**/!(*.long).test.js'] },
  codes: {
    mutate: ['network-codes', 'ack-outcomes', 'disconnect-outcomes'].map((file) => `libs/messenger/dist/${file}.js`),
    tests: ['build/tests/libs/messenger/test/{network-codes,ack-outcomes,disconnect-outcomes}.test.js'],
  },
};
const USAGE = `npm run mutate -- <lua | ${Object.keys(PACKAGES).join(' | ')}> [file]`;

/**
 * `npm run mutate -- PACKAGE`: takes guarantees away, one at a time, and sees whether the tests notice. By hand, as it
 * takes minutes. `lua [FILE]` goes through the list in `scripts/mutation/lua.json`, all others are Stryker's.
 */
export async function runMutate(args: string[], lifecycle: Lifecycle): Promise<number> {
  const { positionals } = parseArgs({ args, allowPositionals: true });
  const [name = '', only] = positionals;
  const mutated = PACKAGES[name];
  if (!mutated && name !== 'lua') throw new GatewayError({ code: 'usage', message: USAGE });
  removeStaleTests();
  const { path } = makeTemporaryFolder(lifecycle, 'mutate-redis');
  const redisUrl = launcherConfig.redisUrl ?? (await startEmbeddedRedis(lifecycle, { folder: path }));
  const sandbox = makeSandbox(lifecycle);
  if (mutated) return runStryker(lifecycle, { sandbox, name, redisUrl, mutated });
  const say = (line: string) => console.log(line);
  const { killed, survived } = await mutateLua(sandbox, { redisUrl, only, signal: lifecycle.stopping, say });
  const all = killed + survived.length;
  console.log(`\n${killed} of ${all} killed: ${((100 * killed) / all).toFixed(1)} %`);
  return survived.length > all / 10 ? 1 : 0;
}
