import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../paths.js';

const BUILT = 'build/tests';

/** The compiler never removes what it once wrote: a test that was deleted or renamed would run for ever. */
export function removeStaleTests(): void {
  if (!existsSync(join(ROOT, BUILT))) return;
  for (const path of readdirSync(join(ROOT, BUILT), { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.test.js')) continue;
    if (!existsSync(join(ROOT, path.replace(/\.js$/, '.ts')))) rmSync(join(ROOT, BUILT, path));
  }
}
