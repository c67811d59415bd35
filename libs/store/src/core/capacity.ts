import type { Workspace } from '@gateway/contracts/ids';
import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { listAllDevices } from '../devices/devices.js';
import { listWorkspaces } from '../workspace/workspaces.js';
import type { Store } from './store.js';

/** How full Redis is, and how much accepted work will add. */
export interface Capacity {
  /** What counts towards `maxmemory`. */
  usedBytes: number;
  /** `maxmemory`; 0 if not set. */
  limitBytes: number;
  /** Messages that wait on all devices, by workspace; not asked for without a `maxmemory`. */
  queuedMessages: ReadonlyMap<Workspace, number>;
  /** Bytes of the files of all workspaces, included in the used bytes. */
  fileBytes: number;
}

/** Safe to repeat; costs a command for each device. */
export async function readCapacity(store: Store): Promise<Capacity> {
  const { usedBytes, limitBytes } = await readFullestNode(store);
  const workspaces = await listWorkspaces(store);
  const fileBytes = await readNumbers(
    store,
    workspaces.map(({ name }) => workspaceKeys(store.space, name).blobBytes),
  );
  return {
    usedBytes,
    limitBytes,
    fileBytes: fileBytes.reduce((sum, bytes) => sum + bytes, 0),
    queuedMessages: limitBytes === 0 ? new Map() : await countQueued(store),
  };
}

/** Of the masters of a Cluster that with the least room decides: what a caller sends may lie on any of them. */
export async function readFullestNode(store: Store): Promise<Pick<Capacity, 'usedBytes' | 'limitBytes'>> {
  const infos = await Promise.all(masterNodes(store.redis).map((node) => node.info('memory')));
  const nodes = infos.map((info) => {
    const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
    // Redis does not count what it has yet to write to its file, and to its replicas.
    const usedBytes = read('used_memory') - read('mem_not_counted_for_evict');
    return { usedBytes, limitBytes: read('maxmemory') };
  });
  const shareOf = ({ usedBytes, limitBytes }: (typeof nodes)[number]) =>
    limitBytes === 0 ? 0 : usedBytes / limitBytes;
  return nodes.reduce((fullest, node) => (shareOf(node) > shareOf(fullest) ? node : fullest));
}

async function countQueued(store: Store): Promise<Map<Workspace, number>> {
  const devices = await listAllDevices(store);
  const backlogs = await readNumbers(
    store,
    devices.map((address) => deviceKeys(store.space, address).backlog),
  );
  const counts = new Map<Workspace, number>();
  for (const [i, { workspace }] of devices.entries()) {
    counts.set(workspace, (counts.get(workspace) ?? 0) + backlogs[i]!);
  }
  return counts;
}

async function readNumbers(store: Store, counters: readonly string[]): Promise<number[]> {
  const values = await Promise.all(counters.map((key) => store.redis.get(key)));
  return values.map((value) => Math.max(0, Number(value ?? 0)));
}
