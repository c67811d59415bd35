import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { ROOT } from '../paths.js';
import { installDependencies } from './install-dependencies.js';

/** What is changed, by patterns, and the files of the tests that should notice; all from the root. */
export interface MutatedPackage {
  mutate: string[];
  tests: string[];
  /** Also what is made when a module loads, such as tables. Each change to that costs a process of its own. */
  withTables: boolean;
  /** A change that hangs is noticed after this, and half as much again as its tests take. Default 20 s. */
  timeoutMs?: number;
  /** Only so much of all changes, from 0 to 1, chosen at random. */
  sample?: number;
}

const TOOL = join(ROOT, 'scripts/mutation');

/**
 * Stryker on the built JavaScript of a package: it has no parser for the syntax of our compiler's version, and mutates what
 * runs. In place, as it is in a sandbox already: one of its own would import our packages from outside of it.
 */
export async function runStryker(
  lifecycle: Lifecycle,
  { sandbox, name, redisUrl, mutated }: { sandbox: string; name: string; redisUrl: string; mutated: MutatedPackage },
): Promise<number> {
  await provideStryker(lifecycle);
  const report = join(ROOT, `build/mutation/${name}.json`);
  mkdirSync(join(ROOT, 'build/mutation'), { recursive: true });
  writeFileSync(join(sandbox, 'stryker.conf.json'), JSON.stringify(settings(mutated, report)));
  const child = startChild(lifecycle, {
    name: 'stryker',
    module: join(TOOL, 'node_modules/@stryker-mutator/core/bin/stryker.js'),
    args: ['run', 'stryker.conf.json'],
    // The model test finds most with its first sequences, and runs for each change.
    // What never becomes true is noticed soon, without a process that has to be ended.
    env: { REDIS_URL: redisUrl, MODEL_SEED: '1', MODEL_SEQUENCES: '25', TEST_PATIENCE_MS: '4000' },
    cwd: sandbox,
    output: 'inherit',
  });
  return exitCodeOf(child);
}

function settings({ mutate, tests, withTables, timeoutMs = 20_000, sample }: MutatedPackage, report: string): object {
  return {
    ...{ packageManager: 'npm', testRunner: 'mocha', inPlace: true, coverageAnalysis: 'perTest', concurrency: 2 },
    plugins: [
      join(TOOL, 'node_modules/@stryker-mutator/mocha-runner/dist/src/index.js'),
      join(TOOL, 'sample-checker.mjs'),
    ],
    ...(sample !== undefined && { checkers: ['sample'], sample: { share: sample, seed: randomUUID() } }),
    mutate,
    ignoreStatic: !withTables,
    mochaOptions: { spec: tests, 'no-config': true },
    timeoutMS: timeoutMs,
    reporters: ['progress-append-only', 'clear-text', 'json'],
    clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
    jsonReporter: { fileName: report },
    allowConsoleColors: false,
  };
}

/** Installed on demand, from a lock file of its own: `npm ci` of the repository need not carry its 78 MB. */
async function provideStryker(lifecycle: Lifecycle): Promise<void> {
  const installed = join(TOOL, 'node_modules/.package-lock.json');
  const isRecent =
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(TOOL, 'package-lock.json')).mtimeMs;
  if (isRecent) return;
  console.error('Installing Stryker ...');

  await installDependencies(TOOL, lifecycle.stopping);
}
