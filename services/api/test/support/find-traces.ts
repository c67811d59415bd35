import { createHash } from 'node:crypto';
import type { Gateway } from '@gateway/testkit/gateway';
import type { RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

/**
 * Fails when a code, or a plain digest of one, is anywhere it could be read afterwards: in a log line or a metric of any
 * service, or in Redis (keys, values, queues).
 */
export async function expectNoTrace(
  codes: readonly string[],
  { space, gateway }: { space: RedisSpace; gateway: Gateway },
): Promise<void> {
  const digests = codes.flatMap((code) => ['sha256', 'sha1', 'md5'].map((name) => createHash(name).update(code)));
  const traces = [...codes, ...digests.flatMap((digest) => digest.digest('hex'))];
  const metrics = await gateway.metrics();
  expect(metrics.length, 'of the api and the others').to.be.at.least(2);
  for (const text of metrics) expect(text).to.include('# TYPE ');
  expect(gateway.logs().length).to.be.greaterThan(10);
  const places = {
    'the logs': JSON.stringify(gateway.logs()),
    'the metrics': metrics.join('\n'),
    Redis: await dumpRedis(space),
  };
  for (const [place, text] of Object.entries(places)) {
    for (const trace of traces) expect(text.includes(trace), `a trace in ${place}`).to.equal(false);
  }
}

/** Every key of the space with all that is in it, as text. */
export async function dumpRedis(space: RedisSpace): Promise<string> {
  const redis = space.clients.commands;
  const parts: string[] = [];
  for (const key of await redis.keys(`${space.prefix}:*`)) {
    const type = await redis.type(key);
    // Its time ended meanwhile.
    if (type === 'none') continue;
    parts.push(key, type, ...[await readValue(space, key, type)].flat(3).map(String));
  }
  expect(parts.length).to.be.greaterThan(50);
  return parts.join('\n');
}

function readValue({ clients: { commands: redis } }: RedisSpace, key: string, type: string): Promise<unknown> {
  const readers: Record<string, () => Promise<unknown>> = {
    string: () => redis.getBuffer(key),
    hash: async () => Object.entries(await redis.hgetallBuffer(key)),
    set: () => redis.smembers(key),
    zset: () => redis.zrange(key, '0', '-1', 'WITHSCORES'),
    list: () => redis.lrange(key, 0, -1),
    stream: async () => JSON.stringify(await redis.xrange(key, '-', '+')),
  };
  const read = readers[type];
  if (!read) throw new Error(`what is a ${type}?`);
  return read();
}
