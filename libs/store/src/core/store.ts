import { type KeySpace, schemaKey } from '@gateway/contracts/redis-keys';
import { type ConfirmWrites, confirmNothing } from '@gateway/runtime/redis/confirm-writes';
import type { Redis } from 'ioredis';
import { defineScript, mixed, type RunScript, type ScriptArgument, text } from './scripts/define-script.js';
import { loadScripts } from './scripts/load-scripts.js';
import { createVault, type KeyRings, type Vault } from './vault.js';

/** The dependencies of every function of this library. */
export interface Store {
  redis: Redis;
  space: KeySpace;
  vault: Vault;
  run: RunScript;
  /** Awaited before a promise is given. */
  confirmWrites: ConfirmWrites;
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
  return {
    redis: options.redis,
    space: options.space,
    vault: createVault(options.keyRings),
    run: loadScripts(options.redis),
    confirmWrites: options.confirmWrites ?? confirmNothing,
  };
}

/** The same store by another connection. */
export function onConnection(store: Store, redis: Redis): Store {
  return { ...store, redis, run: loadScripts(redis) };
}

/**
 * One command on one key, carried out also when Redis is full. Only for what no caller can make
 * more of: values of which there is a fixed number, each of a fixed size, and those that operators make.
 */
export function writeAlways(store: Store, command: string, key: string, ...args: ScriptArgument[]): Promise<unknown> {
  return writeAlwaysStep(store, { value: key, command, arguments: args });
}

/** Marks a new installation, or throws when the data in Redis is of another version of the data model. */
export async function checkSchema(store: Store): Promise<void> {
  const key = schemaKey(store.space);
  // A full Redis refuses to write, and a process that was there before must be able to come back.
  if ((await store.redis.exists(key)) === 0) await store.redis.setnx(key, SCHEMA);
  const found = await store.redis.get(key);
  if (found !== SCHEMA) throw new Error(`Redis holds data of schema ${found}, this version works on schema ${SCHEMA}`);
}
