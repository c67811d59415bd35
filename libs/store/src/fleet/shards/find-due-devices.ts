import { type DeviceAddress, deviceOfName } from '@gateway/contracts/ids';
import { sessionKeyPrefix, shardKeys } from '@gateway/contracts/redis-keys';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';

const findStep = defineScript({
  name: 'find-due-devices',
  whenFull: 'runs',
  keys: ['devices'],
  args: { shardBase: text, sessionPrefix: text, nowMs: number },
  reply: words,
});

/** Devices of a shard, of all workspaces, that no process owns, and whose sends are to be ended, or forgotten in part. */
export async function findDueDevices(store: Store, shard: number, nowMs: number): Promise<DeviceAddress[]> {
  const { base, devices } = shardKeys(store.space, shard);
  const names = await findStep(store, {
    ...{ devices, shardBase: base, sessionPrefix: sessionKeyPrefix(store.space, shard), nowMs },
  });
  return names.map(deviceOfName);
}
