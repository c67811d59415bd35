import { relative } from 'node:path';
import Mocha from 'mocha';
import { ROOT } from '../paths.js';
import { addFailure, countsIfItDies, writeCounts } from './test-counts.js';

let countsFile: string | undefined;

/**
 * Mocha's usual output, and the counts and failures of the run as JSON in the file that `--reporter-option counts=FILE` names.
 * @public mocha loads it by its path.
 */
export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions & { reporterOption?: { counts?: string } }) {
    super(runner, options);
    const file = options.reporterOption?.counts;
    const seconds = measureFiles(runner);
    const failures: string[] = [];
    runner.on('fail', (test, error) => failures.push(`${titleOf(test)}: ${firstLineOf(error)}`));
    runner.on('test', (test) => {
      if (file) writeCounts(file, countsIfItDies(failures, `${titleOf(test)}: the run died in it`));
    });
    runner.once('end', () => {
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      if (file) writeCounts(file, { passed, failed, skipped, failures, seconds });
      countsFile = file;
    });
  }
}

/** What is found to be wrong after the last test. */
export function countFailure(failure: string): void {
  if (countsFile) addFailure(countsFile, failure);
}

function titleOf(test: Mocha.Runnable): string {
  return test.titlePath().join(' > ');
}

/** Anything may be thrown. */
function firstLineOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split('\n', 1)[0]!;
}

/** How long each file takes, its hooks included; complete when the run has ended. */
function measureFiles(runner: Mocha.Runner): Record<string, number> {
  const seconds: Record<string, number> = {};
  const startedMs = new Map<Mocha.Suite, number>();
  runner.on('suite', (suite) => {
    if (suite.parent?.root) startedMs.set(suite, performance.now());
  });
  runner.on('suite end', (suite) => {
    const started = startedMs.get(suite);
    if (started === undefined || !suite.file) return;
    const file = relative(ROOT, suite.file);
    seconds[file] = Math.round((seconds[file] ?? 0) * 10 + (performance.now() - started) / 100) / 10;
  });
  return seconds;
}
