#!/usr/bin/env node
// `npm run test:node -- 24 [options of npm test]`: the tests with another Node.js, which npm has as a package for each platform.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Pinned, so that a new release of Node.js is not what makes a test fail. */
const VERSIONS = { 22: '22.23.3', 24: '24.21.0' };
const ROOT = fileURLToPath(new URL('..', import.meta.url));

const [major, ...args] = process.argv.slice(2);
const version = VERSIONS[major];
if (!version) {
  console.error(`Usage: npm run test:node -- <${Object.keys(VERSIONS).join(' | ')}> [options]`);
  process.exit(2);
}
const folder = join(ROOT, 'build/tools', `node-${version}`);
const name = `node-${process.platform}-${process.arch}`;
const node = join(folder, 'node_modules', name, 'bin/node');
if (!existsSync(node)) {
  const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('npm', ['install', '--prefix', folder, ...options, `${name}@${version}`], { stdio: 'inherit' });
}
console.error(`Node.js ${execFileSync(node, ['-v'], { encoding: 'utf8' }).trim()}`);
// What the launcher starts finds this one first, too: a shell puts it in front of its PATH.
const script = 'export PATH="$1:$PATH" NODE_COMPILE_CACHE="$2"; shift 2; exec node scripts/launch.mjs test "$@"';
// Each process of the tests compiles the same modules; these versions keep what one has compiled for the next.
const cache = join(folder, 'compile-cache');
const child = spawn('sh', ['-c', script, 'sh', dirname(node), cache, ...args], { cwd: ROOT, stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => process.exit(code ?? 1));
