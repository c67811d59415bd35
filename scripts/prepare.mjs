import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LOCK = `${ROOT}package-lock.json`;
/** What npm writes when it has installed: the lock file, as it stands on disk. */
const INSTALLED = `${ROOT}node_modules/.package-lock.json`;
const DASHBOARD = 'services/dashboard';
const PAGE = `${DASHBOARD}/web`;
const MINIMUM_NODE = [20, 19];

/**
 * Makes a checkout ready to run: installs what is missing and builds what has changed. Says what it does on stderr,
 * and nothing when there is nothing to do. Ends the process with the reason when a step fails.
 */
export async function prepare(projects) {
  checkNode();
  if (!isInstalled()) {
    console.error('Installing the dependencies ...');
    await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  }
  if (!existsSync(`${ROOT}scripts/dist`)) console.error('Building ...');
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-b', ...projects]);
  if (!isBuilt('services/api/dist/reference/reference.js.gz', 'services/api/reference')) {
    await run(process.execPath, ['services/api/reference/build.mjs']);
  }
  if (projects.includes(DASHBOARD) && !isBuilt(`${DASHBOARD}/dist/web/index.html`, PAGE)) {
    console.error('Building the page of the console ...');
    await run(process.execPath, ['node_modules/vite/bin/vite.js', 'build', PAGE, '--logLevel', 'error']);
  }
}

/** Whether a file is newer than all that is in the folder that it is made of. */
function isBuilt(file, folder) {
  const built = ROOT + file;
  if (!existsSync(built)) return false;
  const sources = readdirSync(ROOT + folder, { recursive: true }).map((path) => join(ROOT, folder, path));
  const builtMs = statSync(built).mtimeMs;
  return [LOCK, ...sources].every((path) => statSync(path).mtimeMs <= builtMs);
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1])) return;
  console.error(`Node ${MINIMUM_NODE.join('.')} or newer is needed; this is ${process.versions.node}.`);
  process.exit(1);
}

/** An older installation is still good when each package has the version that the lock file asks for. */
function isInstalled() {
  if (!existsSync(INSTALLED)) return false;
  if (statSync(INSTALLED).mtimeMs >= statSync(LOCK).mtimeMs) return true;
  const { packages: wanted } = JSON.parse(readFileSync(LOCK, 'utf8'));
  const { packages: installed } = JSON.parse(readFileSync(INSTALLED, 'utf8'));
  return Object.entries(wanted).every(([path, { version, link, optional }]) => {
    if (!path.startsWith('node_modules/') || optional) return true;
    return link ? existsSync(ROOT + path) : installed[path]?.version === version;
  });
}

/** Runs a step with its output held back, shown only when it fails. Ctrl-C ends the step too. */
function run(file, args) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    const interrupt = (signal) => child.kill(signal);
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
    child.on('error', (error) => fail(`${file} could not be started: ${error.message}`));
    child.on('close', (code, signal) => {
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
      if (code === 0) return resolve();
      fail(signal ? 'Interrupted.' : `${output.trim()}\n\nThis step failed: ${[file, ...args].join(' ')}`);
    });
  });
}

function fail(reason) {
  console.error(reason);
  process.exit(1);
}
