import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../paths.js';

const BUILT = 'build/tests';
const LONG = '.long.test.js';

/** The built test files, by their paths from the root: those of `npm test`, or the long ones that it leaves out. */
export function findTests({ long }: { long: boolean }): string[] {
  return readdirSync(join(ROOT, BUILT), { recursive: true, encoding: 'utf8' })
    .map((path) => join(BUILT, path))
    .filter((path) => path.endsWith('.test.js') && path.endsWith(LONG) === long)
    .sort();
}
