import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { bytes, defineScript } from '../../../core/scripts/define-script.js';
import type { Store } from '../../../core/store.js';

const keepStep = defineScript({
  name: 'keep-parking-key',
  whenFull: 'runs',
  repliesBytes: true,
  keys: ['parkingKey', 'webhook'],
  args: { made: bytes },
  reply: (reply) => reply as Buffer,
});

/**
 * 32 bytes of a workspace, by which it is known for whom something is put aside. They stay when the encryption keys change: what is
 * put aside waits for days. Made when one of its endpoints first asks for them. Throws `UnknownKeyError` when their key is not configured here.
 */
export async function readParkingKey(store: Store, workspace: Workspace, id: WebhookId): Promise<Buffer> {
  const { parkingKey, webhook } = workspaceKeys(store.space, workspace);
  const open = (sealed: Buffer) => store.vault.open(sealed, 'parkingKey', parkingKey);
  const found = await store.redis.getBuffer(parkingKey);
  if (found) return open(found);
  const made = store.vault.seal(store.vault.subkey('parked'), 'parkingKey', parkingKey);
  return open(await keepStep(store, { parkingKey, webhook: webhook(id), made }));
}
