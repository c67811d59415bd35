import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';

/** The sources, from where the compiled module lies: the compiler copies no Lua. */
const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));
const INCLUDE = /^--- @include "([a-z-]+)"$/gm;

export type ScriptArgument = string | number | Buffer;
export type RunScript = (name: string, keys: readonly string[], args: readonly ScriptArgument[]) => Promise<unknown>;

/**
 * The Lua files of this library, by name: each lies beside the TypeScript that runs it, and is one atomic step, or a part
 * of several (`--- @include`).
 *
 * One that begins with `#!lua flags=allow-oom` runs also when Redis is at its `maxmemory`: all that ends or keeps up what
 * was accepted. Those without it are how callers put something new into Redis; they are refused then.
 */
function readScripts(): Map<string, string> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.lua'));
  const sources = new Map(files.map((path) => [basename(path, '.lua'), readFileSync(join(SOURCES, path), 'utf8')]));
  if (sources.size < files.length) throw new Error('two Lua files have the same name');
  return new Map(
    [...sources].map(([name, source]) => [
      name,
      source.replace(INCLUDE, (_, part: string) => {
        const included = sources.get(part);
        if (included === undefined) throw new Error(`${name} includes ${part}, which is not there`);
        return included;
      }),
    ]),
  );
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
