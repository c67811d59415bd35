import { type KeySpace, schemaKey } from '@gateway/contracts/redis-keys';
import type { EncryptionKey } from '@gateway/runtime/encryption-keys';
import type { Redis } from 'ioredis';
import { loadScripts, type RunScript } from './load-scripts.js';
import { createVault, type Vault } from './vault.js';

/** What every function of this library works on. */
export interface Store {
  redis: Redis;
  space: KeySpace;
  vault: Vault;
  run: RunScript;
}

/** The data model's version. A process refuses to start on another one. */
const SCHEMA = '1';

export function createStore(options: {
  redis: Redis;
  space: KeySpace;
  encryptionKeys: readonly EncryptionKey[];
}): Store {
  return {
    redis: options.redis,
    space: options.space,
    vault: createVault(options.encryptionKeys),
    run: loadScripts(options.redis),
  };
}

/** Marks a new installation, or throws when the data in Redis is of another version of the data model. */
export async function checkSchema(store: Store): Promise<void> {
  await store.redis.setnx(schemaKey(store.space), SCHEMA);
  const found = await store.redis.get(schemaKey(store.space));
  if (found !== SCHEMA) throw new Error(`Redis holds data of schema ${found}, this version works on schema ${SCHEMA}`);
}
