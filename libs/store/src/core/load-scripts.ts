import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';

const LUA = fileURLToPath(new URL('../../lua/', import.meta.url));
const INCLUDE = /^--- @include "([a-z-]+)"$/gm;

export type ScriptArgument = string | number | Buffer;
export type RunScript = (name: string, keys: readonly string[], args: readonly ScriptArgument[]) => Promise<unknown>;

/**
 * The Lua files of `libs/store/lua`, by name, each with its includes in place. One file is one atomic step.
 *
 * One that begins with `#!lua flags=allow-oom` runs also when Redis is at its `maxmemory`: all that ends or keeps up what
 * was accepted. Those without it are how callers put something new into Redis; they are refused then.
 */
function readScripts(): Map<string, string> {
  const scripts = new Map<string, string>();
  for (const file of readdirSync(LUA)) {
    if (!file.endsWith('.lua')) continue;
    const source = readFileSync(LUA + file, 'utf8');
    const whole = source.replace(INCLUDE, (_, name: string) => readFileSync(`${LUA}includes/${name}.lua`, 'utf8'));
    scripts.set(file.slice(0, -'.lua'.length), whole);
  }
  return scripts;
}

/**
 * Runs our scripts on a Redis client: by their hash, and with the source again when the server has forgotten it.
 * Not `defineCommand` of ioredis: each of its pipelines, of which there are thousands a second, carries all such commands.
 */
export function loadScripts(redis: Redis): RunScript {
  const scripts = new Map([...readScripts()].map(([name, lua]) => [name, { lua, sha: sha1(lua) }]));
  return async (name, keys, args) => {
    const script = scripts.get(name);
    if (!script) throw new Error(`no Lua script named ${name}`);
    try {
      return await redis.evalsha(script.sha, keys.length, ...keys, ...args);
    } catch (thrown) {
      if (!isForgotten(thrown)) throw thrown;
      return redis.eval(script.lua, keys.length, ...keys, ...args);
    }
  };
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

function isForgotten(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message.startsWith('NOSCRIPT');
}
