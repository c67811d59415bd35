import { type KeySpace, schemaKey } from '@gateway/contracts/redis-keys';
import { inTime, sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { type ConfirmWrites, confirmNothing } from '@gateway/runtime/redis/confirm-writes';
import { isRedisAway } from '@gateway/runtime/redis/is-redis-away';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import type { Connections } from '@gateway/runtime/redis/server-of';
import type { Redis } from 'ioredis';
import { AwayShards } from './away/away-shards.js';
import { defineScript, mixed, type RunScript, type ScriptArgument, text } from './scripts/define-script.js';
import { loadScripts } from './scripts/load-scripts.js';
import { createVault, type KeyRings, type Vault } from './vault.js';

/** The dependencies of every function of this library. */
export interface Store {
  redis: Redis;
  space: KeySpace;
  vault: Vault;
  run: RunScript;
  /**
   * Awaited before a promise is given, right after it was written: resolves once replicas have all that was written in the slot of this
   * key, and rejects with `not_confirmed` when they do not say so in time. Of several writes: see `writeTogether`.
   */
  confirmWrites(key: string, since?: Connections): Promise<void>;
  /** Whether it asks replicas. */
  asksReplicas: boolean;
  awayShards: AwayShards;
}

const writeAlwaysStep = defineScript({
  name: 'write-always',
  whenFull: 'runs',
  keys: ['value'],
  args: { command: text, '...arguments': mixed },
  reply: (reply) => reply,
});

/** The data model's version. A process refuses to start on another one. */
const SCHEMA = '6';

export function createStore(options: {
  redis: Redis;
  space: KeySpace;
  keyRings: KeyRings;
  /** Default: one Redis is enough. */
  confirmWrites?: ConfirmWrites;
}): Store {
  const { redis, space, keyRings, confirmWrites = confirmNothing } = options;
  return {
    redis,
    space,
    vault: createVault(keyRings),
    run: loadScripts(redis),
    confirmWrites: (key, since) => confirmWrites(redis, key, since),
    asksReplicas: confirmWrites !== confirmNothing,
    awayShards: new AwayShards(redis, space),
  };
}

/** The same store by another connection, which gives no promises: what replicas have is asked for the one that wrote. */
export function onConnection(store: Store, redis: Redis): Store {
  const confirmWrites = () => Promise.reject(new Error('this connection gives no promises'));
  return { ...store, redis, run: loadScripts(redis), confirmWrites, awayShards: new AwayShards(redis, store.space) };
}

/**
 * One command on one key, carried out also when Redis is full. Only for what no caller can make
 * more of: values of which there is a fixed number, each of a fixed size, and those that operators make.
 */
export function writeAlways(store: Store, command: string, key: string, ...args: ScriptArgument[]): Promise<unknown> {
  return writeAlwaysStep(store, { value: key, command, arguments: args });
}

const SCHEMA_WAIT_MS = 3_000;
const SCHEMA_AGAIN_MS = 1_000;

/**
 * For a process that starts. While the node of a Cluster that has the mark is away the others are served: then it is compared later,
 * and the process ends should it be another one.
 */
export async function awaitSchema(
  store: Store,
  { logger, stopping, fail }: { logger: Pick<Logger, 'warn'>; stopping: AbortSignal; fail: (error: Error) => void },
): Promise<void> {
  if (!isCluster(store.redis)) return checkSchema(store);
  const checked = checkUntilKnown(store, stopping);
  if (await inTime(checked, SCHEMA_WAIT_MS)) return;
  logger.warn('the node that has the version of the data is away: it is compared later');
  checked.catch((thrown: unknown) => fail(toError(thrown)));
}

async function checkUntilKnown(store: Store, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    try {
      return await checkSchema(store);
    } catch (thrown) {
      if (!isRedisAway(toError(thrown))) throw thrown;
    }
    await sleep(SCHEMA_AGAIN_MS, stopping).catch(() => {});
  }
}

/**
 * Marks a new installation, or throws when the data in Redis is of another version of the data model.
 * @public Tests start with it.
 */
export async function checkSchema(store: Store): Promise<void> {
  const key = schemaKey(store.space);
  // A full Redis refuses to write, and a process that was there before must be able to come back.
  if ((await store.redis.exists(key)) === 0) await store.redis.setnx(key, SCHEMA);
  const found = await store.redis.get(key);
  if (found !== SCHEMA) throw new Error(`Redis holds data of schema ${found}, this version works on schema ${SCHEMA}`);
}
