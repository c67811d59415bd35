import type { RedisSpace } from '@gateway/testkit/redis-space';

/** All keys of the space, or those that begin with one of `wanted`, with all that is in them; fields of hashes in one order, which Redis changes as it reads. */
export async function everything(
  { prefix, clients: { commands } }: RedisSpace,
  wanted: readonly string[] = [prefix],
): Promise<string[]> {
  const isWanted = (key: string) => wanted.some((beginning) => key.startsWith(beginning));
  const keys = (await commands.keys(`${prefix}:*`)).filter(isWanted).sort();
  const read = async (key: string) => {
    if ((await commands.type(key)) !== 'hash') return (await commands.dumpBuffer(key))?.toString('hex');
    const fields = Object.entries(await commands.hgetallBuffer(key)).map(([name, value]) => [
      name,
      value.toString('hex'),
    ]);
    return JSON.stringify(fields.sort());
  };
  return Promise.all(keys.map(async (key) => `${key} ${await read(key)}`));
}
