import { deviceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, flag } from '../../core/scripts/define-script.js';
import { nothing } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import type { Ownership } from '../../fleet/ownership.js';

const noteStep = defineScript({
  name: 'note-passkey-demand',
  whenFull: 'runs',
  isFenced: true,
  keys: ['device'],
  args: { isDemanded: flag },
  reply: nothing,
});

/**
 * How the last attempt to link the device ended. An import is no such attempt: it may have been the way round the passkey. Throws
 * `FencedError` for a stale owner: the device may be another one of that name by then.
 */
export async function notePasskeyDemand(store: Store, ownership: Ownership, isDemanded: boolean): Promise<void> {
  await noteStep(store, ownership, { device: deviceKeys(store.space, ownership.address).device, isDemanded });
}
