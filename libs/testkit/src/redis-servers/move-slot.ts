import { askServer } from './ask-server.js';
import { LOCALHOST } from './cuttable-network.js';
import type { RedisCluster } from './redis-cluster.js';
import { PASSWORD, type RedisProcess } from './redis-process.js';

const TIMEOUT_MS = 5_000;

/**
 * Begins to move the slot of a key to another master, as `redis-cli --cluster reshard` does: its keys are there, and the slot is still
 * that of the former one. Returns what ends that: the rest is moved, and all masters are told.
 * @param goes which keys are there already. Default: all.
 */
export async function beginMove(
  { shards }: RedisCluster,
  key: string,
  { from, to, goes = () => true }: { from: RedisProcess; to: RedisProcess; goes?: (key: string) => boolean },
): Promise<() => Promise<void>> {
  const slot = Number(await askServer(from.url, 'CLUSTER', 'KEYSLOT', key));
  const [fromId, toId] = await Promise.all(
    [from, to].map(async ({ url }) => String(await askServer(url, 'CLUSTER', 'MYID'))),
  );
  await askServer(to.url, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId!);
  await askServer(from.url, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId!);
  const move = async (isMoved: (key: string) => boolean) => {
    const count = Number(await askServer(from.url, 'CLUSTER', 'COUNTKEYSINSLOT', slot));
    const keys = (await askServer(from.url, 'CLUSTER', 'GETKEYSINSLOT', slot, count)) as string[];
    const moved = keys.filter(isMoved);
    const access = ['AUTH', PASSWORD];
    if (moved.length > 0)
      await askServer(from.url, 'MIGRATE', LOCALHOST, to.port, '', 0, TIMEOUT_MS, ...access, 'KEYS', ...moved);
  };
  await move(goes);
  return async () => {
    await move(() => true);
    for (const { url } of [to, from]) await askServer(url, 'CLUSTER', 'SETSLOT', slot, 'NODE', toId!);
    // The others would hear of it with time. Those that are masters no more refuse it.
    const others = shards.map(({ master }) => master).filter((each) => each !== to && each !== from);
    for (const { url } of others) await askServer(url, 'CLUSTER', 'SETSLOT', slot, 'NODE', toId!).catch(() => {});
  };
}
