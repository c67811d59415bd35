import { randomBytes } from 'node:crypto';
import { parseEncryptionKeys } from '@gateway/runtime/config/encryption-keys';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { isCluster, masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { createStore, type Store } from '@gateway/store/core/store';
import type { KeyRings } from '@gateway/store/core/vault';
import type { Redis } from 'ioredis';
import { testRedisUrl } from './config.js';

/** A part of the test run's Redis for one test. */
export interface RedisSpace {
  url: string;
  prefix: string;
  clients: RedisClients;
  store: Store;
  /** Environment variables of the services; the API gets the second only. */
  keySettings: { CREDENTIAL_KEYS: string; CONTENT_KEYS: string };
  /** Removes the keys of this space and closes its connections. */
  close(): Promise<void>;
}

const keySettings = { CREDENTIAL_KEYS: `test:${'07'.repeat(32)}`, CONTENT_KEYS: `test:${'08'.repeat(32)}` };

/** Key rings as a service reads them from its environment. */
export function readKeyRings({ CREDENTIAL_KEYS, CONTENT_KEYS }: RedisSpace['keySettings']): KeyRings {
  return { credentials: parseEncryptionKeys(CREDENTIAL_KEYS), contents: parseEncryptionKeys(CONTENT_KEYS) };
}

/**
 * @param options.url of a Redis of the test's own. @throws when REDIS_URL is not set: other tests run on the Redis that
 * `npm test` starts.
 */
export async function openRedisSpace({ url = testRedisUrl() }: { url?: string } = {}): Promise<RedisSpace> {
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  const clients = createRedisClients({ url, logger: createLogger({ service: 'test', level: 'error' }) });
  await clients.waitForReady();
  searchAllNodes(clients.commands);
  const store = createStore({
    redis: clients.commands,
    space: { prefix },
    keyRings: readKeyRings(keySettings),
  });
  return {
    url,
    prefix,
    clients,
    store,
    keySettings,
    close: async () => {
      for (const node of masterNodes(clients.commands)) {
        for await (const keys of node.scanStream({ match: `${prefix}:*`, count: 1000 }) as AsyncIterable<string[]>)
          await Promise.all(keys.map((key) => clients.commands.unlink(key)));
      }
      await clients.close();
    },
  };
}

/** Tests look for keys by a pattern, which a Cluster answers for one of its nodes only. */
export function searchAllNodes(redis: Redis): void {
  if (!isCluster(redis)) return;
  const keys = async (pattern: string) =>
    (await Promise.all(masterNodes(redis).map((node) => node.keys(pattern)))).flat();
  Object.assign(redis, { keys });
}
