import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { type Store, writeAlways } from '../../core/store.js';

/**
 * 32 bytes of a workspace, by which it is known for whom something is put aside. They stay when the encryption keys change: what is
 * put aside waits for days. Made when they are first asked for. Throws `UnknownKeyError` when their key is not configured here.
 */
export async function readParkingKey(store: Store, workspace: Workspace): Promise<Buffer> {
  const key = workspaceKeys(store.space, workspace).parkingKey;
  const found = await store.redis.getBuffer(key);
  if (found) return store.vault.open(found, 'parkingKey', key);
  const made = store.vault.seal(store.vault.subkey('parked'), 'parkingKey', key);
  await writeAlways(store, 'SET', key, made, 'NX');
  return readParkingKey(store, workspace);
}
