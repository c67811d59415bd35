import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The Lua files of the store below a copy of the repository, by their names. */
export function findLuaFiles(root: string): Map<string, string> {
  const sources = join(root, 'libs/store/src');
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.lua'));
  return new Map(files.map((path) => [basename(path, '.lua'), join(sources, path)]));
}
