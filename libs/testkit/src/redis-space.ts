import { randomBytes } from 'node:crypto';
import type { KeySpace } from '@gateway/contracts/redis-keys';
import { parseEncryptionKeys } from '@gateway/runtime/config/encryption-keys';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { isCluster, masterNodes, masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { createStore, type Store } from '@gateway/store/core/store';
import type { KeyRings } from '@gateway/store/core/vault';
import type { Redis } from 'ioredis';
import { testRedisUrl } from './config.js';
import type { RedisCluster } from './redis-servers/redis-cluster.js';

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

/** A space for a test, with one of the masters that has none of these keys of it: the test can go on without that one. */
export async function openSpaceBesideNode(cluster: RedisCluster, keysOf: (keys: KeySpace) => readonly string[]) {
  for (;;) {
    const space = await openRedisSpace({ url: cluster.url });
    const ports = new Set(keysOf(space.store.space).map((key) => portOf(space, key)));
    const free = cluster.shards.find(({ master }) => !ports.has(master.port));
    if (free) return { space, master: free.master };
    await space.close();
  }
}

/** Of the master that has a key. */
export function portOf({ store: { redis } }: RedisSpace, key: string): number | undefined {
  return masterOfKey(redis, key).options.port;
}
