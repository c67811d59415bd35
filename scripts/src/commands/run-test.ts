import { cpSync, createReadStream, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { launcherConfig } from '../config.js';
import { ROOT } from '../paths.js';
import { findRedisServer } from '../redis/find-redis-server.js';
import { installPackage, outputOf } from '../redis/install-package.js';
import { startEmbeddedRedis } from '../redis/start-embedded-redis.js';
import { makeTemporaryFolder } from '../temporary-folder.js';
import { isClusterTest } from '../tests/cluster-tests.js';
import { findTests } from '../tests/find-tests.js';
import { provideChromium } from '../tests/provide-chromium.js';
import { provideKubectl } from '../tests/provide-kubectl.js';
import { providePromtool } from '../tests/provide-promtool.js';
import { removeStaleTests } from '../tests/remove-stale-tests.js';
import { partOfTests, shareOutTests } from '../tests/share-out-tests.js';
import {
  announceRun,
  countExit,
  countsIfItDies,
  readSeconds,
  rememberSeconds,
  writeCounts,
} from '../tests/test-counts.js';
import { mostlyWaits } from '../tests/waiting-tests.js';

interface TestRun {
  name: string;
  files: readonly string[];
  /** Where its counts are written. */
  counts: string;
  output: number | 'inherit';
}

/**
 * Side by side: tests mostly wait, but for the long ones, of which many need a core for themselves and browsers more than that. Those
 * of them that do wait have runs of their own.
 */
const RUNS = { usual: 4, long: 2, apart: 2 };
/** A tenth of their time was that of the collector, which the default of 16 MB calls four times as often. */
const MOCHA_FLAGS = ['--max-semi-space-size=64'];
/** Of the long tests, of which nothing else stops one that hangs: four times what they take on a machine that has no other work. */
const LONG_LIMIT_MS = 60 * 60_000;
/** For any test: above what its waits take together, so that the one that failed can say what it waited for. */
const MOCHA_OPTIONS = ['--no-config', '--forbid-only', '--timeout', '600000'];

/**
 * `npm test`: all tests but the long ones, in four runs side by side with a Redis each. What the others say follows
 * when the first has ended. `--counts FOLDER` gets the counts of each run, `--in libs/messenger,services/api/test/lists` runs
 * those whose paths begin so; other options go to mocha, such as `--grep`.
 */
export async function runTest(args: string[], lifecycle: Lifecycle): Promise<number> {
  removeStaleTests();
  await provideCurl();
  await providePromtool();
  await provideChromium();
  return runFiles(findTests({ long: false }), args, lifecycle);
}

/**
 * `npm run test:long`: what takes too long for `npm test`, in the same way. `--part 2/4` runs the second of four parts of it. It
 * fails when it takes over an hour.
 */
export async function runLongTests(args: string[], lifecycle: Lifecycle): Promise<number> {
  removeStaleTests();
  await providePromtool();
  await provideChromium();
  await provideKubectl();
  const timer = setTimeout(() => {
    console.error(`The long tests took more than ${LONG_LIMIT_MS / 60_000} minutes.`);
    process.kill(process.pid, 'SIGTERM');
  }, LONG_LIMIT_MS);
  return runFiles(findTests({ long: true }), args, lifecycle, { mostRuns: RUNS.long, isApart: mostlyWaits }).finally(
    () => clearTimeout(timer),
  );
}

/**
 * `npm run test:cluster`: the quick tests that are not about one Redis server, on a Redis Cluster. A whole run fails, too, when a
 * Lua script never ran on it.
 */
export async function runClusterTests(args: string[], lifecycle: Lifecycle): Promise<number> {
  removeStaleTests();
  await findRedisServer();
  const files = findTests({ long: false }).filter(isClusterTest);
  const isWhole = !args.includes('--in') && !args.includes('--grep');
  const SCRIPTS_FILE = `${makeTemporaryFolder(lifecycle, 'scripts').path}/scripts`;
  const mochaArgs = [...args, '--require', 'libs/testkit/dist/redis-servers/use-cluster.js'];
  const code = await runFiles(files, mochaArgs, lifecycle, { env: { SCRIPTS_FILE } });
  const left = isWhole && code === 0 ? scriptsThatNeverRan(readFileSync(SCRIPTS_FILE, 'utf8')) : [];
  if (left.length === 0) return code;
  const failure = `never ran on the Cluster: ${left.join(', ')}`;
  console.error(failure);
  const { value: countsFolder } = takeOption(args, '--counts');
  if (countsFolder) writeCounts(join(countsFolder, 'scripts.json'), countsIfItDies([], failure));
  return 1;
}

/** @param told a line for each script and run of tests: `name ran`, or `name not`. */
function scriptsThatNeverRan(told: string): string[] {
  const lines = told.split('\n').filter(Boolean);
  const ran = new Set(lines.filter((line) => line.endsWith(' ran')).map((line) => line.split(' ')[0]!));
  return [...new Set(lines.map((line) => line.split(' ')[0]!))].filter((name) => !ran.has(name));
}

/** `npm run test:browser`: all tests of the console's page, the quick and the long ones. Their screenshots go to `docs/console`. */
export async function runBrowserTests(args: string[], lifecycle: Lifecycle): Promise<number> {
  removeStaleTests();
  await provideChromium();
  const files = [...findTests({ long: false }), ...findTests({ long: true })];
  const ofPage = files.filter((file) => file.includes('/dashboard/test/browser/'));
  rmSync(`${ROOT}build/console`, { recursive: true, force: true });
  const code = await runFiles(ofPage, args, lifecycle);
  if (code === 0 && args.length === 0) {
    rmSync(`${ROOT}docs/console`, { recursive: true, force: true });
    cpSync(`${ROOT}build/console`, `${ROOT}docs/console`, { recursive: true });
  }
  return code;
}

interface RunOptions {
  env?: Record<string, string>;
  mostRuns?: number;
  /** These have runs of their own beside the others. */
  isApart?: (file: string) => boolean;
}

async function runFiles(
  files: readonly string[],
  args: readonly string[],
  lifecycle: Lifecycle,
  { env = {}, mostRuns = RUNS.usual, isApart = () => false }: RunOptions = {},
): Promise<number> {
  const { path } = makeTemporaryFolder(lifecycle, 'test');
  const { value: countsFolder = path, rest } = takeOption(args, '--counts');
  const { value: folders, rest: others } = takeOption(rest, '--in');
  const { value: part = '1/1', rest: mochaArgs } = takeOption(others, '--part');
  const seconds = readSeconds();
  const inFolders = files.filter(
    (file) => !folders || folders.split(',').some((folder) => file.includes(`/${folder}`)),
  );
  if (inFolders.length === 0) throw new Error(`There are no tests in ${folders}`);
  const chosen = partOfTests(inFolders, part, seconds);
  const shared = [
    ...shareOutTests(
      chosen.filter((file) => !isApart(file)),
      mostRuns,
      seconds,
    ),
    ...shareOutTests(chosen.filter(isApart), RUNS.apart, seconds),
  ];
  const shares = shared.filter((files) => files.length > 0);
  const runs = shares.map((share, index): TestRun => {
    const name = `run-${index + 1}`;
    const output = index === 0 ? 'inherit' : openSync(`${path}/${name}.log`, 'w');
    return { name, files: share, counts: announceRun(countsFolder, name), output };
  });
  const codes = await Promise.all(
    runs.map((run) => runMocha(lifecycle, run, { folder: `${path}/${run.name}`, mochaArgs, env })),
  );
  for (const { name } of runs.slice(1)) {
    await pipeline(createReadStream(`${path}/${name}.log`), process.stdout, { end: false });
  }
  const isWhole = !folders && part === '1/1' && mochaArgs.length === 0 && codes.every((code) => code === 0);
  if (isWhole) rememberSeconds(runs.map(({ counts }) => counts));
  return Math.max(0, ...codes);
}

function takeOption(args: readonly string[], name: string): { value?: string; rest: readonly string[] } {
  const at = args.indexOf(name);
  const value = at < 0 ? undefined : args[at + 1];
  return value ? { value, rest: args.toSpliced(at, 2) } : { rest: args };
}

async function runMocha(
  lifecycle: Lifecycle,
  { files, counts, output }: TestRun,
  { folder, mochaArgs, env }: { folder: string; mochaArgs: readonly string[]; env: Record<string, string> },
): Promise<number> {
  const REDIS_URL = launcherConfig.redisUrl ?? (await startEmbeddedRedis(lifecycle, { folder }));
  const module = 'scripts/dist/tests/run-mocha.js';
  const reporter = ['--reporter', 'scripts/dist/tests/counting-reporter.js', '--reporter-option', `counts=${counts}`];
  const args = [...MOCHA_OPTIONS, ...reporter, ...mochaArgs, ...files];
  const code = await exitCodeOf(
    startChild(lifecycle, { name: 'mocha', module, args, nodeFlags: MOCHA_FLAGS, env: { ...env, REDIS_URL }, output }),
  );
  return countExit(counts, code);
}

/** The examples of docs/api.md are run as they stand. Without curl their test fails and says so. */
async function provideCurl(): Promise<void> {
  if ((await outputOf('curl', ['--version'])) === undefined) await installPackage({ apt: 'curl', brew: 'curl' });
}
