// Refuses folders with more than 15 source files, tests apart: a name says little about what many files have in common.
// Prints each with its count; exits with 1 when there is one.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';

const MOST = 15;
const SOURCE = /\.(ts|tsx|mts|mjs|js|lua|css)$/;
const TEST = /(^|\/)test\//;

const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' });
const counts = new Map();
for (const path of new Set(listed.split('\n'))) {
  if (!SOURCE.test(path) || TEST.test(path) || !existsSync(path)) continue;
  counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
}
const full = [...counts].filter(([, count]) => count > MOST);
for (const [folder, count] of full) console.error(`${folder}: ${count} source files, ${MOST} at most`);
process.exitCode = full.length > 0 ? 1 : 0;
