import { relative } from 'node:path';
import Mocha from 'mocha';
import { ROOT } from '../paths.js';
import { writeCounts } from './test-counts.js';

/**
 * Mocha's usual output, and the counts of the run as JSON in the file that `--reporter-option counts=FILE` names.
 * @public mocha loads it by its path.
 */
export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions & { reporterOption?: { counts?: string } }) {
    super(runner, options);
    const file = options.reporterOption?.counts;
    const seconds = measureFiles(runner);
    runner.once('end', () => {
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      if (file) writeCounts(file, { passed, failed, skipped, seconds });
    });
  }
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
