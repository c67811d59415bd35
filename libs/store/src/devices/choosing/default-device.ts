import { DEFAULT_DEVICE, type DeviceAddress, type DeviceId, type Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, text } from '../../core/scripts/define-script.js';
import { isOne } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { WorkspaceGoneError } from '../../core/workspace-gone-error.js';

const setDefaultStep = defineScript({
  name: 'set-default-device',
  whenFull: 'runs',
  keys: ['default', 'token?'],
  args: { device: text },
  reply: isOne,
});

/** The device that tokens act on which are not linked to one. */
export async function readDefaultDevice(store: Store, workspace: Workspace): Promise<DeviceId> {
  return (await store.redis.get(workspaceKeys(store.space, workspace).defaultDevice)) ?? DEFAULT_DEVICE;
}

/** Counts from the next request on, on every replica. Throws `WorkspaceGoneError` as `ensureDevice` does, having written nothing. */
export async function setDefaultDevice(
  store: Store,
  { workspace, device }: DeviceAddress,
  { keyId }: { keyId?: string } = {},
): Promise<void> {
  const { defaultDevice, token } = workspaceKeys(store.space, workspace);
  const proof = keyId === undefined ? undefined : token(keyId);
  if (!(await setDefaultStep(store, { default: defaultDevice, token: proof, device }))) throw new WorkspaceGoneError();
}
