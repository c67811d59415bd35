import { randomBytes } from 'node:crypto';
import { createLogger } from '@gateway/runtime/logger';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis-clients';
import { createStore, type Store } from '@gateway/store/store';
import { testRedisUrl } from './config.js';

/** A corner of the test run's Redis that nobody else writes to. */
export interface RedisSpace {
  url: string;
  prefix: string;
  clients: RedisClients;
  store: Store;
  /** As the environment variable of a service. */
  encryptionKeys: string;
  /** Removes the keys of this space and closes its connections. */
  close(): Promise<void>;
}

const KEY_HEX = '07'.repeat(32);

/**
 * @param options.url of a Redis of the test's own. @throws when REDIS_URL is not set: other tests run on the Redis that
 * `npm test` starts.
 */
export async function openRedisSpace({ url = testRedisUrl() }: { url?: string } = {}): Promise<RedisSpace> {
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  const clients = createRedisClients({ url, logger: createLogger({ service: 'test', level: 'error' }) });
  await clients.waitForReady();
  const store = createStore({
    redis: clients.commands,
    space: { prefix },
    encryptionKeys: [{ id: 'test', key: Buffer.from(KEY_HEX, 'hex') }],
  });
  return {
    url,
    prefix,
    clients,
    store,
    encryptionKeys: `test:${KEY_HEX}`,
    close: async () => {
      for await (const keys of clients.commands.scanStream({ match: `${prefix}:*`, count: 1000 })) {
        if (keys.length > 0) await clients.commands.unlink(...(keys as string[]));
      }
      await clients.close();
    },
  };
}
