import { type DeviceAddress, nameOfDevice } from '@gateway/contracts/ids';
import { deviceKeys, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { defineScript, text } from '../../core/scripts/define-script.js';
import { oneOf } from '../../core/scripts/replies.js';
import { type Store, writeAlways } from '../../core/store.js';

const removeStep = defineScript({
  name: 'remove-device',
  whenFull: 'runs',
  keys: ['devices', 'device', 'desired', 'observed', 'history', 'creds', 'openSends'],
  args: { name: text },
  reply: oneOf('removed', 'linked', 'sending'),
});

/**
 * Takes a device out of all lists, unless an account is linked to it (`linked`) or messages wait to go out with it (`sending`). Its
 * messages are kept as long as any; a link under the same name makes it anew. Safe to repeat, and to race with such a link.
 */
export async function removeDevice(store: Store, address: DeviceAddress): Promise<'removed' | 'linked' | 'sending'> {
  const { device, desired, observed, history, creds, openSends } = deviceKeys(store.space, address);
  const { devices } = shardKeys(store.space, shardOf(address));
  const name = nameOfDevice(address);
  const keys = { devices, device, desired, observed, history, creds, openSends };
  const outcome = await removeStep(store, { ...keys, name });
  if (outcome === 'removed') await unlistDevice(store, address);
  return outcome;
}

/** Takes a device that was removed out of the list of its workspace. Safe to repeat, and to race with a link. */
export async function unlistDevice(store: Store, address: DeviceAddress): Promise<void> {
  const listed = workspaceKeys(store.space, address.workspace).devices;
  await store.redis.srem(listed, address.device);
  // A link has made it anew meanwhile.
  const { device } = deviceKeys(store.space, address);
  if (await store.redis.hexists(device, 'createdAtMs')) await writeAlways(store, 'SADD', listed, address.device);
}
