import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';

const LUA = fileURLToPath(new URL('../lua/', import.meta.url));
const INCLUDE = /^--- @include "([a-z-]+)"$/gm;

export type ScriptArgument = string | number | Buffer;
export type RunScript = (name: string, keys: readonly string[], args: readonly ScriptArgument[]) => Promise<unknown>;

/** The Lua files of `libs/store/lua`, by name, each with its includes in place. One file is one atomic step. */
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

/** Teaches a Redis client our scripts. ioredis sends their hash, and the source again when the server has forgotten it. */
export function loadScripts(redis: Redis): RunScript {
  const scripts = readScripts();
  for (const [name, lua] of scripts) redis.defineCommand(name, { lua });
  const commands = redis as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  return (name, keys, args) => {
    if (!scripts.has(name)) throw new Error(`no Lua script named ${name}`);
    return commands[name]!(keys.length, ...keys, ...args);
  };
}
