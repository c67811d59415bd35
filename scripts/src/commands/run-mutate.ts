import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { launcherConfig } from '../config.js';
import { makeSandbox } from '../mutation/make-sandbox.js';
import { mutateLua } from '../mutation/mutate-lua.js';
import { type MutatedPackage, runStryker } from '../mutation/run-stryker.js';
import { testsThatLoad } from '../mutation/tests-that-load.js';
import { ROOT } from '../paths.js';
import { startEmbeddedRedis } from '../redis/start-embedded-redis.js';
import { makeTemporaryFolder } from '../temporary-folder.js';
import { findTests } from '../tests/find-tests.js';
import { removeStaleTests } from '../tests/remove-stale-tests.js';

const SENDER_TESTS = [
  ...[
    'active-sends',
    'active-sends-aside',
    'claims-ahead',
    'codes-first',
    'device-owner',
    'device-owner-ends',
    'device-socket',
    'device-work',
    'dispatch-message',
    'drop-opted-out',
    'failure-lines',
    'first-contact-hold',
  ],
  ...[
    'hold-in-silence',
    'kept-content',
    'library-turns',
    'load-send',
    'login-garbage',
    'new-contact-hold',
    'owner-wiring',
    'question-desk',
    'quiet-device',
    'quotes',
    'reconnect-backoff',
    'redis-distance',
    'result-writer',
  ],
  ...[
    'held-recipients',
    'scheduler',
    'scheduler-answers',
    'send-preparation',
    'send-progress',
    'send-spans',
    'sender-pool',
    'session-pruner',
    'steward',
  ],
  ...['take-ins', 'take-session-event', 'unknown-keys', 'uploads', 'verdicts', 'wake-up', 'writers-without-number'],
];

/** A model that runs thousands of sequences would take seconds for each change; and all that is changed at once costs more. */
const UNFIT = ['/model/', '/number-cost.'];

/** Tests by the start of their path in `build/tests`. */
const PACKAGES: Record<string, MutatedPackage> = {
  contracts: {
    mutate: ['libs/contracts/dist/**/*.js'],
    // Some layouts have their tests where they are used.
    tests: [
      'libs/contracts/test/',
      ...['activity', 'console', 'delete-workspace', 'owner-questions', 'totals'].map(
        (file) => `libs/store/test/${file}.test.js`,
      ),
    ],
    withTables: false,
  },
  fleet: { mutate: ['libs/fleet/dist/**/*.js'], tests: ['libs/fleet/test/'], withTables: false },
  // What webhooks do with it is tested where they are delivered.
  store: { mutate: ['libs/store/dist/**/*.js'], tests: ['libs/store/test/', 'libs/webhooks/test/'], withTables: false },
  codes: {
    mutate: ['network-codes', 'ack-outcomes', 'disconnect-outcomes', 'disconnect-policy'].map(
      (file) => `libs/messenger/dist/codes/${file}.js`,
    ),
    tests: ['ack-outcomes', 'disconnect-outcomes', 'disconnect-policy', 'hang-ups'].map(
      (file) => `libs/messenger/test/${file}.test.js`,
    ),
    // The codes are a table.
    withTables: true,
  },
  sender: {
    mutate: ['scheduling', 'dispatching', 'holding', 'preparing', 'device', 'fleet'].map(
      (folder) => `services/sender/dist/${folder}/*.js`,
    ),
    // Those that need no process.
    tests: SENDER_TESTS.map((file) => `services/sender/test/${file}.test.js`),
    withTables: false,
    // Loops that do not end are many, and their tests take milliseconds.
    timeoutMs: 6_000,
  },
};
const USAGE = `npm run mutate -- <lua | ${Object.keys(PACKAGES).join(' | ')}> [files] [--sample SHARE]`;

/**
 * `npm run mutate -- PACKAGE`: takes guarantees away, one at a time, and sees whether the tests notice. By hand, as it
 * takes minutes; with FILES, without their ending, or folders, only those, with the tests that load them; with `--sample 0.1` a tenth
 * of all changes, chosen at random. `lua` goes through the list in `scripts/mutation/lua.json`, all others are Stryker's.
 */
export async function runMutate(args: string[], lifecycle: Lifecycle): Promise<number> {
  const { positionals, values } = parseArgs({ args, allowPositionals: true, options: { sample: { type: 'string' } } });
  const sample = readSample(values.sample);
  const [name = '', ...only] = positionals;
  const mutated = PACKAGES[name] && { ...withTests(PACKAGES[name], only), ...sample };
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
  return survived.length > all / 20 ? 1 : 0;
}

function readSample(text: string | undefined): { sample?: number } {
  if (text === undefined) return {};
  const sample = Number(text);
  if (!(sample > 0 && sample <= 1)) throw new GatewayError({ code: 'usage', message: USAGE });
  return { sample };
}

function withTests({ mutate, tests, ...rest }: MutatedPackage, only: readonly string[]): MutatedPackage {
  const isWanted = (file: string) =>
    !UNFIT.some((part) => file.includes(part)) && tests.some((start) => file.startsWith(`build/tests/${start}`));
  const found = findTests({ long: false }).filter(isWanted);
  const lacking = tests.filter((start) => !found.some((file) => file.startsWith(`build/tests/${start}`)));
  if (lacking.length > 0)
    throw new GatewayError({ code: 'usage', message: `there are no tests ${lacking.join(', ')}` });
  if (only.length === 0) return { ...rest, mutate, tests: found };
  const chosen = findBuilt(mutate, only);
  return { ...rest, mutate: chosen, tests: testsThatLoad(chosen, found) };
}

function findBuilt(patterns: readonly string[], names: readonly string[]): string[] {
  const folders = new Set(patterns.map((pattern) => pattern.slice(0, pattern.indexOf('/dist/') + '/dist'.length)));
  const built = [...folders].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  );
  return names.flatMap((name) => {
    const files = built.filter((path) => path.endsWith(`/${name}.js`) || path.match(`/dist/${name}/[^/]+\\.js$`));
    if (files.length === 0) throw new GatewayError({ code: 'usage', message: `there is no file ${name}` });
    return files;
  });
}
