import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './paths.js';

const BUILT = 'build/tests';
/** What takes as long as everything else together, most of it waiting. */
const FIRST = [`${BUILT}/libs/`, `${BUILT}/services/connection/`, `${BUILT}/services/sender/`];

/** Options of mocha for two runs side by side: each test file is in one of them, also one in a folder that is new. */
export function shareOutTests(): string[][] {
  const files = readdirSync(join(ROOT, BUILT), { recursive: true, encoding: 'utf8' })
    .map((path) => join(BUILT, path))
    .filter((path) => path.endsWith('.test.js'));
  const isFirst = (file: string) => FIRST.some((folder) => file.startsWith(folder));
  const ignore = (others: string[]) => others.flatMap((file) => ['--ignore', file]);
  return [ignore(files.filter((file) => !isFirst(file))), ignore(files.filter(isFirst))];
}
