import { randomUUID } from 'node:crypto';
import { FIRST_USER, type UserRole } from '@gateway/contracts/console/users';
import { consoleKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { hash, verify } from '@node-rs/argon2';
import { writeTogether } from '../core/confirming/write-together.js';
import { defineScript, number, text } from '../core/scripts/define-script.js';
import { isOne } from '../core/scripts/replies.js';
import { type Store, writeAlways } from '../core/store.js';
import { endSessionsOf } from './sessions.js';

const createStep = defineScript({
  name: 'create-user',
  whenFull: 'runs',
  keys: ['user', 'users'],
  args: { name: text, role: text, nowMs: number, attempt: text },
  reply: isOne,
});

/** Who may use the console. */
export interface User {
  name: string;
  role: UserRole;
  /** How they prove who they are. More ways may come. */
  auth: 'password';
  hasPassword: boolean;
  createdAtMs: number;
}

/** OWASP's setting for argon2id: 19 MiB and two passes, 25 ms of one core. */
const ARGON2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Makes a user, who has no password yet. `undefined` when the name is taken. */
export async function createUser(store: Store, name: string, role: UserRole): Promise<User | undefined> {
  const { user, users } = consoleKeys(store.space);
  const made = { name, role, nowMs: systemClock.nowMs(), attempt: randomUUID() };
  return (await createStep(store, { user: user(name), users, ...made })) ? findUser(store, name) : undefined;
}

/** The first start makes `admin`. Safe to repeat and to race. */
export async function ensureFirstUser(store: Store): Promise<User | undefined> {
  if ((await store.redis.scard(consoleKeys(store.space).users)) > 0) return undefined;
  return createUser(store, FIRST_USER, 'admin');
}

/**
 * `undefined` without such a user, for one that an earlier version has only begun to make, and for what a change leaves of one that is
 * removed meanwhile.
 */
export async function findUser(store: Store, name: string): Promise<User | undefined> {
  const { role, createdAtMs, hash: password } = await store.redis.hgetall(consoleKeys(store.space).user(name));
  if (!role || !createdAtMs) return undefined;
  const hasPassword = password !== undefined;
  return { name, role: role as UserRole, auth: 'password', hasPassword, createdAtMs: Number(createdAtMs) };
}

/** All of them, by name. */
export async function listUsers(store: Store): Promise<User[]> {
  const names = await store.redis.smembers(consoleKeys(store.space).users);
  const users = await Promise.all(names.sort().map((name) => findUser(store, name)));
  return users.filter((user) => user !== undefined);
}

/** Counts from their next request on. `undefined` without such a user. */
export async function setRole(store: Store, name: string, role: UserRole): Promise<User | undefined> {
  if (!(await findUser(store, name))) return undefined;
  await writeAlways(store, 'HSET', consoleKeys(store.space).user(name), 'role', role);
  await store.confirmWrites(consoleKeys(store.space).users);
  return findUser(store, name);
}

/** With all that signs them in. `false`: there was no such user. Safe to repeat. */
export async function removeUser(store: Store, name: string): Promise<boolean> {
  const keys = consoleKeys(store.space);
  return writeTogether(store, keys.users, async () => {
    const removed = await store.redis.del(keys.user(name));
    await store.redis.srem(keys.users, name);
    await endSessionsOf(store, name);
    return removed === 1;
  });
}

/** From now on this password and no other. Sessions go on: end them where that is not wanted. */
export async function setPassword(store: Store, name: string, password: string): Promise<void> {
  const { user, users } = consoleKeys(store.space);
  await writeAlways(store, 'HSET', user(name), 'hash', await hash(password, ARGON2));
  await store.confirmWrites(users);
}

let decoy: Promise<string> | undefined;

/** Whether it is the password of that user. Takes as long when there is no such user, so that names are not given away. */
export async function hasThatPassword(store: Store, name: string, password: string): Promise<boolean> {
  const stored = await store.redis.hget(consoleKeys(store.space).user(name), 'hash');
  decoy ??= hash('no password of anyone', ARGON2);
  const isRight = await verify(stored ?? (await decoy), password);
  return isRight && stored !== null;
}
