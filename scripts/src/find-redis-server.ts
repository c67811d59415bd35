import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { GatewayError } from '@gateway/runtime/errors';

const execute = promisify(execFile);

const CHOICES = `No Redis was found. Choose one:
  - install it: apt install redis-server, dnf install valkey, apk add redis, brew install redis
  - or name one that runs: REDIS_URL=redis://host:6379 (6.2 or newer, appendonly yes, maxmemory-policy noeviction)`;

/** The server program to run an embedded Redis with, installed if need be. Throws with the choices when there is none. */
export async function findRedisServer(): Promise<string> {
  const found = (await firstThatRuns()) ?? ((await install()) ? await firstThatRuns() : undefined);
  if (!found) throw new GatewayError({ code: 'no_redis', message: CHOICES });
  return found;
}

async function firstThatRuns(): Promise<string | undefined> {
  for (const program of ['redis-server', 'valkey-server']) {
    const version = await outputOf(program, ['--version']);
    if (version !== undefined && isRecent(version)) return program;
  }
  return undefined;
}

/** `Redis server v=7.0.15 ...`: 6.2 is the oldest that the gateway accepts. Valkey began at 7.2. */
function isRecent(version: string): boolean {
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 2);
}

/** True when a package manager was there and did its work. */
async function install(): Promise<boolean> {
  if ((await outputOf('apt-get', ['--version'])) !== undefined) return installWithApt();
  if ((await outputOf('brew', ['--version'])) !== undefined) return installWithBrew();
  return false;
}

async function installWithApt(): Promise<boolean> {
  const rights = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  if (rights.length > 0 && (await outputOf('sudo', ['-n', 'true'])) === undefined) return false;
  console.error('Installing redis-server with apt ...');
  const apt = [...rights, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq'];
  // A stale index is no obstacle when the package is in it all the same.
  await outputOf(...split([...apt, 'update']));
  const installed = await outputOf(...split([...apt, 'install', '-y', '--no-install-recommends', 'redis-server']));
  await stopSystemService(rights);
  return installed !== undefined;
}

/** The package starts a server of the machine's own, which nobody asked for. */
async function stopSystemService(rights: string[]): Promise<void> {
  await outputOf(...split([...rights, 'systemctl', 'disable', '--now', 'redis-server']));
  await outputOf(...split([...rights, 'service', 'redis-server', 'stop']));
}

async function installWithBrew(): Promise<boolean> {
  console.error('Installing redis with brew ...');
  return (await outputOf('brew', ['install', '--quiet', 'redis'])) !== undefined;
}

function split([program = '', ...args]: string[]): [string, string[]] {
  return [program, args];
}

/** What a program prints, or `undefined` when it is not there or fails. */
async function outputOf(program: string, args: string[]): Promise<string | undefined> {
  try {
    return (await execute(program, args)).stdout;
  } catch {
    return undefined;
  }
}
