import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';

/**
 * Mocha's usual output, and the counts as JSON in the file that `--reporter-option counts=FILE` names, for `.ci/run`.
 * @public mocha loads it by its path.
 */
export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions & { reporterOption?: { counts?: string } }) {
    super(runner, options);
    const file = options.reporterOption?.counts;
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats;
      if (file) writeFileSync(file, JSON.stringify({ passed: passes, failed: failures, skipped: pending }));
    });
  }
}
