import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

// The end of `.ci/run`: each failed test once more, as only the tail of a long log is read; the failed steps; the line of counts.
// Plain JavaScript, for a tree that does not compile. Usage: node tell-results.mjs FAILED_STEPS FOLDER_OF_COUNTS...
const [failedSteps, ...folders] = process.argv.slice(2);

// The launcher writes a file for each run before it starts it, with one failure in it until the run has come to its end.
// Without any file the launcher itself did not come so far: that is a failure, too.
const NOT_STARTED = { passed: 0, failed: 1, failures: ['the tests did not start'] };

const runs = folders.flatMap((folder) => {
  const files = existsSync(folder) ? readdirSync(folder).sort() : [];
  const counts = files.map((file) => JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')));
  return (counts.length > 0 ? counts : [NOT_STARTED]).map((each) => ({ ...each, folder }));
});
const sum = (name) => runs.reduce((total, each) => total + each[name], 0);
const failures = runs.flatMap((run) => run.failures.map((failure) => `  ${basename(run.folder)}: ${failure}`));

if (failures.length > 0) console.log(['', 'Failed tests:', ...failures].join('\n'));
if (failedSteps) console.log(`\nFailed: ${failedSteps}`);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
