import { mkdirSync, writeFileSync } from 'node:fs';
import Mocha from 'mocha';

/**
 * Mocha's usual output, and the counts of each run as JSON in the folder that `--reporter-option counts=FOLDER` names,
 * for `.ci/run`.
 * @public mocha loads it by its path.
 */
export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions & { reporterOption?: { counts?: string } }) {
    super(runner, options);
    const folder = options.reporterOption?.counts;
    if (folder) mkdirSync(folder, { recursive: true });
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats;
      if (folder)
        writeFileSync(
          `${folder}/${process.pid}.json`,
          JSON.stringify({ passed: passes, failed: failures, skipped: pending }),
        );
    });
  }
}
