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
 * 32 bytes by which it is known for whom something is put aside, and that stay when the encryption keys change: what is put aside waits
 * for days. An endpoint has them with its target. These are for one that the version before has made: those of its workspace, made when
 * such an endpoint first asks for them. Throws `UnknownKeyError` when their key is not configured here.
 */
export async function readParkingKey(store: Store, workspace: Workspace, id: WebhookId): Promise<Buffer> {
  const { parkingKey, webhook } = workspaceKeys(store.space, workspace);
  const open = (sealed: Buffer) => store.vault.open(sealed, 'parkingKey', parkingKey);
  const found = await store.redis.getBuffer(parkingKey);
  if (found) return open(found);
  return open(await keepStep(store, { parkingKey, webhook: webhook(id), made: seal(store, parkingKey) }));
}

/**
 * For a new endpoint: those of its workspace, which the version before would take, and others where these cannot be opened here. `sealed`: for the
 * workspace, unless it has some.
 */
export async function chooseParkingKey(store: Store, workspace: Workspace): Promise<{ key: Buffer; sealed: Buffer }> {
  const { parkingKey } = workspaceKeys(store.space, workspace);
  const sealed = (await store.redis.getBuffer(parkingKey)) ?? seal(store, parkingKey);
  try {
    return { key: store.vault.open(sealed, 'parkingKey', parkingKey), sealed };
  } catch {
    return { key: store.vault.subkey('parked'), sealed };
  }
}

const seal = (store: Store, place: string) => store.vault.seal(store.vault.subkey('parked'), 'parkingKey', place);
