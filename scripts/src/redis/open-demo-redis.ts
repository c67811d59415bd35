import { randomBytes } from 'node:crypto';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { launcherConfig } from '../config.js';
import { makeTemporaryFolder } from '../temporary-folder.js';
import { startEmbeddedRedis } from './start-embedded-redis.js';

/** A Redis for one demo: an embedded one, or a corner of that of `REDIS_URL`. Nothing is left in either afterwards. */
export async function openDemoRedis(
  lifecycle: Lifecycle,
  { logFile }: { logFile: string },
): Promise<{ REDIS_URL: string; KEY_PREFIX: string }> {
  const prefix = `gw-demo-${randomBytes(4).toString('hex')}`;
  const { redisUrl } = launcherConfig;
  if (redisUrl) {
    lifecycle.add('keys of the demo', () => removeKeys(lifecycle, redisUrl, prefix));
    return { REDIS_URL: redisUrl, KEY_PREFIX: prefix };
  }
  const { path } = makeTemporaryFolder(lifecycle, 'demo-data');
  return { REDIS_URL: await startEmbeddedRedis(lifecycle, { folder: path, logFile }), KEY_PREFIX: prefix };
}

async function removeKeys({ logger }: Lifecycle, url: string, prefix: string): Promise<void> {
  const clients = createRedisClients({ url, logger });
  try {
    await clients.waitForReady();
    for await (const keys of clients.commands.scanStream({ match: `${prefix}:*`, count: 1_000 })) {
      if (keys.length > 0) await clients.commands.unlink(...(keys as string[]));
    }
  } finally {
    await clients.close();
  }
}
