import { cpSync, existsSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { ROOT } from '../paths.js';
import { makeTemporaryFolder } from '../temporary-folder.js';

const OURS = ['libs', 'services'].flatMap((parent) =>
  readdirSync(join(ROOT, parent)).map((name) => `${parent}/${name}`),
);
const COPIED = [...OURS, 'scripts'].flatMap((folder) => [`${folder}/dist`, `${folder}/package.json`]);
/** Its Lua is loaded from there. */
const LOADED = 'libs/store/src';

/**
 * A copy of all that is built, with the dependencies of the original: what is changed in it changes no source, and the
 * tests in it import from it. Gone at the end of the run.
 */
export function makeSandbox(lifecycle: Lifecycle): string {
  const { path } = makeTemporaryFolder(lifecycle, 'mutate');
  for (const part of [...COPIED, LOADED, 'build/tests', 'package.json', 'README.md', 'deploy', 'docs'])
    copy(part, path);
  for (const folder of ['', ...OURS].map((each) => join(each, 'node_modules'))) linkDependencies(folder, path);
  return path;
}

function copy(part: string, sandbox: string): void {
  if (existsSync(join(ROOT, part))) cpSync(join(ROOT, part), join(sandbox, part), { recursive: true });
}

/** Our own packages are relative links, which lead into the sandbox; all others lead to the original. */
function linkDependencies(folder: string, sandbox: string): void {
  if (!existsSync(join(ROOT, folder))) return;
  mkdirSync(join(sandbox, folder), { recursive: true });
  for (const name of readdirSync(join(ROOT, folder))) {
    if (name !== '@gateway') symlinkSync(join(ROOT, folder, name), join(sandbox, folder, name));
  }
  const scope = join(folder, '@gateway');
  for (const name of existsSync(join(ROOT, scope)) ? readdirSync(join(ROOT, scope)) : []) {
    mkdirSync(join(sandbox, scope), { recursive: true });
    symlinkSync(readlinkSync(join(ROOT, scope, name)), join(sandbox, scope, name));
  }
}
