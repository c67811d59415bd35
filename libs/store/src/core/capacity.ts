import type { Workspace } from '@gateway/contracts/ids';
import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { listDevices } from '../devices/devices.js';
import type { Store } from './store.js';

/** How far Redis is filled, and by how much it will be by what was accepted. */
export interface Capacity {
  /** What counts towards `maxmemory`. */
  usedBytes: number;
  /** `maxmemory`; 0 where there is none. */
  limitBytes: number;
  /** Messages that wait on all devices of the workspace; not asked for without a `maxmemory`. */
  queuedMessages: number;
  /** Of the files of the workspace, part of what is used. */
  fileBytes: number;
}

/** Safe to repeat; costs a command for each device. */
export async function readCapacity(store: Store, workspace: Workspace): Promise<Capacity> {
  const info = await store.redis.info('memory');
  const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const limitBytes = read('maxmemory');
  return {
    // Redis does not count what it has yet to write to its file, and to its replicas.
    usedBytes: read('used_memory') - read('mem_not_counted_for_evict'),
    limitBytes,
    fileBytes: Number((await store.redis.get(workspaceKeys(store.space, workspace).blobBytes)) ?? 0),
    queuedMessages: limitBytes === 0 ? 0 : await countQueued(store, workspace),
  };
}

async function countQueued(store: Store, workspace: Workspace): Promise<number> {
  const devices = await listDevices(store, workspace);
  const backlogs = await Promise.all(
    devices.map((device) => store.redis.get(deviceKeys(store.space, { workspace, device }).backlog)),
  );
  return backlogs.reduce((sum, backlog) => sum + Math.max(0, Number(backlog ?? 0)), 0);
}
