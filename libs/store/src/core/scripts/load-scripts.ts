import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import { Command, type Redis } from 'ioredis';
import { definedScripts, type RunScript } from './define-script.js';

/**
 * Runs our scripts on a Redis client: by their hash, and with the source again when the server has forgotten it.
 * Not `defineCommand` of ioredis: each of its pipelines, of which there are thousands a second, carries all such commands.
 */
export function loadScripts(redis: Redis): RunScript {
  const version = isCluster(redis) ? 'onCluster' : 'onOne';
  return async (name, keys, args) => {
    const script = definedScripts().get(name);
    if (!script) throw new Error(`no Lua script named ${name}`);
    const { sha, lua } = script[version];
    const { repliesBytes } = script;
    const send = (command: 'evalsha' | 'eval', which: string) =>
      redis.sendCommand(
        new Command(command, [which, keys.length, ...keys, ...args], { replyEncoding: repliesBytes ? null : 'utf8' }),
      );
    try {
      return await send('evalsha', sha);
    } catch (thrown) {
      if (!isForgotten(thrown)) throw thrown;
      return send('eval', lua);
    }
  };
}

function isForgotten(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message.startsWith('NOSCRIPT');
}
