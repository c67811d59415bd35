import { GatewayError } from '@gateway/runtime/errors';
import { installPackage, outputOf } from './install-package.js';

const CHOICES = `No Redis was found. Choose one:
  - install it: apt install redis-server, dnf install valkey, apk add redis, brew install redis
  - or name one that runs: REDIS_URL=redis://host:6379 (7.0 or newer, appendonly yes, maxmemory-policy noeviction)`;

let search: Promise<string> | undefined;

/**
 * The server program to run an embedded Redis with, installed if need be. Throws with the choices when there is none.
 * One search for all who ask: of two package managers that run at a time, the second fails on the lock of the first.
 */
export function findRedisServer(): Promise<string> {
  search ??= findOrInstall();
  return search;
}

async function findOrInstall(): Promise<string> {
  const found =
    (await firstThatRuns()) ??
    ((await installPackage({ apt: 'redis-server', brew: 'redis', service: 'redis-server' }))
      ? await firstThatRuns()
      : undefined);
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

/** `Redis server v=7.0.15 ...`: 7.0 is the oldest that the gateway accepts. Valkey began at 7.2. */
function isRecent(version: string): boolean {
  const [, major] = /v=(\d+)\./.exec(version) ?? [];
  return Number(major) >= 7;
}
