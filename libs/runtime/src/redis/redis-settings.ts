import type { Redis } from 'ioredis';
import { GatewayError } from '../errors.js';

/** The oldest version whose scripts can say that they run also when it is full. */
const MINIMUM_VERSION = [7, 0] as const;

/** Throws `redis_settings` when this Redis could lose messages: a process that starts on it must not go on. */
export async function refuseWrongSettings(client: Redis): Promise<void> {
  const problems = await findProblems(client);
  if (problems.length === 0) return;
  throw new GatewayError({
    code: 'redis_settings',
    message: `Redis is not fit to hold messages: ${problems.join('; ')}`,
  });
}

/** Reads `INFO` only, which managed services allow too. */
async function findProblems(client: Redis): Promise<string[]> {
  const info = parseInfo(await client.info());
  const problems: string[] = [];
  if (!isRecent(info.redis_version)) {
    problems.push(`version is ${info.redis_version}, at least ${MINIMUM_VERSION.join('.')} is needed`);
  }
  if (info.maxmemory_policy !== 'noeviction') {
    problems.push(`maxmemory-policy is ${info.maxmemory_policy}, must be noeviction: others drop messages silently`);
  }
  if (info.aof_enabled !== '1') problems.push('appendonly is off, must be on: a restart would lose accepted messages');
  return problems;
}

function parseInfo(text: string): Record<string, string | undefined> {
  const pairs = text.split(/\r?\n/).flatMap((line) => {
    const at = line.indexOf(':');
    return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : [];
  });
  return Object.fromEntries(pairs);
}

function isRecent(version = ''): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MINIMUM_VERSION[0] || (major === MINIMUM_VERSION[0] && minor >= MINIMUM_VERSION[1]);
}
