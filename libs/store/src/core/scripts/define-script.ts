import { createHash } from 'node:crypto';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys, type KeySpace, sessionKey } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { sleep } from '@gateway/runtime/clock';
import { FencedError, toError } from '@gateway/runtime/errors';
import { onWholeSlots } from '@gateway/runtime/redis/whole-slots';
import { CONTRACT, luaConstants } from './lua-constants.js';
import { composeLua } from './lua-source.js';
import type { ReadReply } from './replies.js';
import { UnknownVersionError } from './unknown-version-error.js';

export type ScriptArgument = string | number | Buffer;
export type RunScript = (name: string, keys: readonly string[], args: readonly ScriptArgument[]) => Promise<unknown>;

/** How an argument is written for Lua. */
type WriteArgument = (value: never) => ScriptArgument;

export const text = (value: string): string => value;
export const number = (value: number): number => value;
/** Encrypted or packed bytes; empty text if there are none. */
export const bytes = (value: Buffer | string): Buffer | string => value;
export const flag = (value: boolean): string => (value ? '1' : '');
/** Of several arguments that mean different things. */
export const mixed = (value: ScriptArgument): ScriptArgument => value;

interface Definition<K extends string, A extends Record<string, WriteArgument>, R> {
  /** Of its Lua file. */
  name: string;
  /** At the `maxmemory` of Redis, `runs` is for steps that finish or maintain accepted work, `refused` for steps that add something new. */
  whenFull: 'runs' | 'refused';
  /** Only for a step on one key that touches no other: while the slot moves, that is at the former master or at the next one. Default: it waits. */
  whileSlotMoves?: 'runs';
  /** It writes nothing: Redis runs it also where it refuses all that writes. */
  isRead?: true;
  /** Only the owner of a device may run it. */
  isFenced?: true;
  /** It reads or changes the send of its key `record`. Throws `UnknownVersionError`, having changed nothing, for one of another version. */
  readsSend?: true;
  /** Its texts come as bytes. */
  repliesBytes?: true;
  /**
   * In this order: in Lua `openSends` is `open_sends_key`. `name?` may be left out, and is then `nil`; of `...names` there are
   * any number, from `KEYS[before_names + 1]` on.
   */
  keys: readonly K[];
  /** The same: in Lua `nowMs` is `now_ms`, a text. */
  args: A;
  reply: ReadReply<R>;
}

type AnyDefinition = Definition<string, Record<string, WriteArgument>, unknown>;

type Named<N> = N extends `...${string}` | `${string}?` ? never : N;
type Optional<N> = N extends `${infer M}?` ? M : never;
type Rest<N> = N extends `...${infer M}` ? M : never;

/** Input of a step: all of its keys and arguments, by name. */
type Input<K extends string, A extends Record<string, WriteArgument>> = { [N in K as Named<N>]: string } & {
  [N in K as Optional<N>]?: string | undefined;
} & { [N in K as Rest<N>]: readonly string[] } & { [N in keyof A as Named<N>]: Parameters<A[N]>[0] } & {
  [N in keyof A as Rest<N>]: readonly Parameters<A[N]>[0][];
};

export interface ScriptHost {
  space: KeySpace;
  run: RunScript;
}

/** The owner that writes. */
export interface ScriptOwner {
  address: DeviceAddress;
  /** `session:epoch`, the value of the device's `owner` key. */
  token: string;
}

type Step<I, R> = (host: ScriptHost, input: I) => Promise<R>;
/** Throws `FencedError`, having changed nothing, for an owner that is one no more. */
type FencedStep<I, R> = (host: ScriptHost, owner: ScriptOwner, input: I) => Promise<R>;

export interface Script {
  name: string;
  whenFull: 'runs' | 'refused';
  isFenced: boolean;
  /** Without that of the ownership. */
  keys: readonly string[];
  repliesBytes: boolean;
  onOne: ScriptText;
  /** The same, and it waits while its slot moves. */
  onCluster: ScriptText;
}

interface ScriptText {
  lua: string;
  sha: string;
}

const LUA_CONSTANTS = luaConstants(CONTRACT);
const scripts = new Map<string, Script>();

/** All that were defined by the modules that are loaded. */
export function definedScripts(): ReadonlyMap<string, Script> {
  return scripts;
}

/** One atomic step in Redis: the one function that calls its Lua file. */
export function defineScript<const K extends string, A extends Record<string, WriteArgument>, R>(
  definition: Definition<K, A, R> & { isFenced: true },
): FencedStep<Input<K, A>, R>;
export function defineScript<const K extends string, A extends Record<string, WriteArgument>, R>(
  definition: Definition<K, A, R> & { isFenced?: never },
): Step<Input<K, A>, R>;
export function defineScript(definition: AnyDefinition): unknown {
  const { name, whenFull, isFenced = false, repliesBytes = false, keys, args, reply } = definition;
  if (scripts.has(name)) throw new Error(`two definitions of ${name}`);
  const lua = writeLua(definition);
  const onCluster = definition.whileSlotMoves === 'runs' ? lua : onWholeSlots(lua);
  const texts = { onOne: withSha(lua), onCluster: withSha(onCluster) };
  scripts.set(name, { name, whenFull, isFenced, keys, repliesBytes, ...texts });
  const step = { name, reply, keys: places(keys), args: places(Object.keys(args), args) };
  if (!isFenced) return (host: ScriptHost, input: Record<string, unknown>) => call(step, host, input);
  return (host: ScriptHost, by: ScriptOwner, input: Record<string, unknown>) => {
    const { owner, session } = ownerKeys(host.space, by.address, by.token);
    return onceBegun(by, () => call(step, host, input, { keys: [owner, session], args: [by.token] }));
  };
}

function withSha(lua: string): ScriptText {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

interface Place {
  name: string;
  isRest: boolean;
  write: WriteArgument | undefined;
}

/** Where the input of a step has its keys, or its arguments. */
function places(names: readonly string[], args: Record<string, WriteArgument> = {}): Place[] {
  return names.map((given) => ({
    name: given.replace(/^\.\.\.|\?$/g, ''),
    isRest: given.startsWith('...'),
    write: args[given],
  }));
}

/** The whole text of a script: names for its keys and arguments, its checks, and its file with all that this asks for. */
function writeLua({ name, whenFull, isRead, isFenced, readsSend, keys, args }: AnyDefinition): string {
  const flags = [...(isRead ? ['no-writes'] : []), ...(whenFull === 'runs' ? ['allow-oom'] : [])];
  const lines = [
    ...(flags.length > 0 ? [`#!lua flags=${flags.join()}`] : []),
    ...nameInLua('KEYS', isFenced ? ['owner', 'session', ...keys] : keys, '_key'),
    ...nameInLua('ARGV', isFenced ? ['token', ...Object.keys(args)] : Object.keys(args), ''),
  ];
  const checks = [...(isFenced ? ['check-owner'] : []), ...(readsSend ? ['check-version'] : [])];
  return [...lines, composeLua([...checks, name], LUA_CONSTANTS)].join('\n');
}

function nameInLua(table: 'KEYS' | 'ARGV', names: readonly string[], ending: string): string[] {
  return names.map((name, index) => {
    const plain = name.replace(/^\.\.\.|\?$/g, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return name.startsWith('...')
      ? `local before_${plain} = ${index}`
      : `local ${plain}${ending} = ${table}[${index + 1}]`;
  });
}

/** The keys of a device's owner and of that owner's session. */
function ownerKeys(space: KeySpace, address: DeviceAddress, token: string): { owner: string; session: string } {
  const id = token.slice(0, token.lastIndexOf(':'));
  return { owner: deviceKeys(space, address).owner, session: sessionKey(space, { shard: shardOf(address), id }) };
}

/** @param fence what comes before its own keys and arguments. */
async function call(
  { name, keys, args, reply }: { name: string; keys: Place[]; args: Place[]; reply: ReadReply<unknown> },
  host: ScriptHost,
  input: Record<string, unknown>,
  fence: { keys: string[]; args: ScriptArgument[] } = { keys: [], args: [] },
): Promise<unknown> {
  take(keys, input, fence.keys);
  take(args, input, fence.args);
  try {
    return reply(await host.run(name, fence.keys, fence.args));
  } catch (thrown) {
    throw toRefusal(name, thrown) ?? thrown;
  }
}

const NOT_BEGUN = /^(NOREPLICAS|MISCONF|BUSY)\b/;
const AGAIN_MS = 250;
/** About as long as a session lives that is not renewed: after that the device has, or may have, another owner. */
export const LONGEST_REFUSAL_MS = 10_000;

/** Redis lacks replicas (`min-replicas-to-write`), cannot write to its disk, or runs a script of another client: it has done nothing of the step. */
export const isNotBegun = (thrown: unknown): boolean => NOT_BEGUN.test(toError(thrown).message);

/** Of each owner of whom Redis has refused a step: resolves when that has been taken, or is given up. */
const refused = new WeakMap<ScriptOwner, Promise<unknown>>();

/**
 * An owner waits here as it does while Redis is away: to give its device up would cost that a login for what is over in seconds. Its later
 * steps wait behind the one that was refused, which would undo them.
 */
async function onceBegun<Result>(owner: ScriptOwner, step: () => Promise<Result>): Promise<Result> {
  const endsMs = performance.now() + LONGEST_REFUSAL_MS;
  for (;;) {
    const before = refused.get(owner);
    if (before) await before;
    try {
      return await step();
    } catch (thrown) {
      if (!mayTryAgain(thrown, endsMs)) throw thrown;
    }
    // Others may have been under way with it: they were refused after it, and come after it.
    if (!refused.has(owner)) return leadOthers(owner, repeat(step, endsMs));
  }
}

async function leadOthers<Result>(owner: ScriptOwner, repeated: Promise<Result>): Promise<Result> {
  const over = repeated.catch(() => {}).then(() => refused.delete(owner));
  refused.set(owner, over);
  return repeated;
}

async function repeat<Result>(step: () => Promise<Result>, endsMs: number): Promise<Result> {
  for (;;) {
    await sleep(AGAIN_MS);
    try {
      return await step();
    } catch (thrown) {
      if (!mayTryAgain(thrown, endsMs)) throw thrown;
    }
  }
}

const mayTryAgain = (thrown: unknown, endsMs: number) => isNotBegun(thrown) && performance.now() < endsMs;

/** A key that was left out has no place; an argument always has one. */
function take(places: readonly Place[], input: Record<string, unknown>, into: ScriptArgument[]): void {
  for (const { name, isRest, write } of places) {
    const given = input[name];
    if (isRest) for (const each of given as never[]) into.push(write ? write(each) : each);
    else if (write) into.push(write(given as never));
    else if (given !== undefined) into.push(given as string);
  }
}

/** Replies of the checks in front of a step. */
function toRefusal(step: string, thrown: unknown): Error | undefined {
  const [code, version] = thrown instanceof Error ? thrown.message.split(' ') : [];
  if (code === 'FENCED') return new FencedError({ step });
  return code === 'UNKNOWN_VERSION' ? new UnknownVersionError({ step, version }) : undefined;
}
