import type { Redis } from 'ioredis';

/** `MEMORY USAGE`, every element counted, of all keys that match and are meant. */
export async function measureMemory(
  redis: Redis,
  match: string,
  isMeant: (key: string) => boolean = () => true,
): Promise<number> {
  let bytes = 0;
  for await (const keys of redis.scanStream({ match, count: 1000 })) {
    const sizes = await Promise.all(
      (keys as string[]).filter(isMeant).map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)),
    );
    for (const size of sizes) bytes += size ?? 0;
  }
  return bytes;
}

/** Matches these characters only, in patterns of Redis. */
export function escapeGlob(text: string): string {
  return text.replace(/[[\]*?\\^]/g, '\\$&');
}
