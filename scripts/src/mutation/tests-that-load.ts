import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../paths.js';

const IMPORTED = /\b(?:from|import)\s*\(?\s*'([^']+)'/g;
const OURS = /^@gateway\/([^/]+)\/(.+)$/;

/** Those of the tests that load one of the built files, themselves or through others: no other one can notice a change there. */
export function testsThatLoad(files: readonly string[], tests: readonly string[]): string[] {
  return tests.filter((test) => {
    const loaded = new Set([test]);
    // A set also gives what is added meanwhile.
    for (const file of loaded) for (const imported of importsOf(file)) loaded.add(imported);
    return files.some((file) => loaded.has(file));
  });
}

/** Paths from the root; libraries of others are left out. */
function importsOf(file: string): string[] {
  const source = readFileSync(join(ROOT, file), 'utf8');
  return [...source.matchAll(IMPORTED)].flatMap(([, name = '']) => {
    const [, owner, path] = OURS.exec(name) ?? [];
    const places = owner ? ['libs', 'services'].map((parent) => `${parent}/${owner}/dist/${path}.js`) : [];
    if (name.startsWith('.')) places.push(join(dirname(file), name));
    return places.filter((place) => existsSync(join(ROOT, place)));
  });
}
