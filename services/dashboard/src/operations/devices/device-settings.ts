import { DISPLAY_NAME } from '@gateway/contracts/devices/display-name';
import { CAREFUL_PACE } from '@gateway/contracts/devices/pace';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { setDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { readDevice, renameDevice, type SeenDevice, setPace } from '@gateway/store/devices/devices';
import { removeDevice as removeFromStore } from '@gateway/store/devices/removing/remove-device';
import { createProof } from '@gateway/store/workspace/tokens/api-tokens';
import Joi from 'joi';
import type { DashboardDeps } from '../../dashboard-deps.js';
import { ConsoleError } from '../../http/console-error.js';
import { operation } from '../../http/operation.js';
import { deviceOf } from './device-of.js';

/** What people call it; programs go on by its id. */
export const nameDevice = operation<{ name: string }>({
  method: 'post',
  path: '/devices/:device/name',
  for: 'operator',
  body: Joi.object({
    name: Joi.string().trim().pattern(DISPLAY_NAME).required(),
  }),
  async handle({ params, body }, deps) {
    const device = await findDevice(params, deps);
    if (!(await renameDevice(deps.store, device, body.name))) throw new ConsoleError('not_found');
    return { body: {}, audit: { action: 'device.renamed', target: device.device } };
  },
});

/** Tokens that belong to no device act on this one, from their next request on. */
export const makeDefault = operation({
  method: 'post',
  path: '/devices/:device/default',
  for: 'operator',
  async handle({ params, user }, deps) {
    const address = { workspace: deps.workspace, device: deviceOf(params) };
    const keyId = await createProof(deps.store, deps.workspace, user.name);
    await findDevice(params, deps);
    await setDefaultDevice(deps.store, address, { keyId });
    return { body: {}, audit: { action: 'device.made_default', target: address.device } };
  },
});

interface PaceBody {
  /** `null`: that of the senders. */
  messagesPerMinute: number | null;
  burst: number;
  jitter: number;
}

/** Takes effect at once. */
export const paceDevice = operation<PaceBody>({
  method: 'post',
  path: '/devices/:device/pace',
  for: 'operator',
  body: Joi.object({
    messagesPerMinute: Joi.number().integer().min(0).max(100_000).allow(null).required(),
    burst: Joi.number().integer().min(1).max(9_999).default(CAREFUL_PACE.burst),
    jitter: Joi.number().min(0).max(1).default(CAREFUL_PACE.jitter),
  }),
  async handle({ params, body: { messagesPerMinute, burst, jitter } }, deps) {
    const { createdAtMs, ...address } = await findDevice(params, deps);
    if (messagesPerMinute === 0 && deps.simulatorUrl === undefined) throw new ConsoleError('unpaced');
    const pace = messagesPerMinute === null ? undefined : { messagesPerMinute, burst, jitter };
    if (!(await setPace(deps.store, { ...address, createdAtMs }, pace))) throw new ConsoleError('not_found');
    await ringDoorbell(deps.store, { topic: 'sends', ...address });
    const target = `${address.device}: ${messagesPerMinute ?? 'default'}`;
    return { body: {}, audit: { action: 'device.pace_set', target } };
  },
});

/** A link under the same name makes it anew. */
export const removeDevice = operation({
  method: 'post',
  path: '/devices/:device/remove',
  for: 'operator',
  async handle({ params }, deps) {
    const address = await findDevice(params, deps);
    const outcome = await removeFromStore(deps.store, address);
    if (outcome !== 'removed') throw new ConsoleError(outcome === 'linked' ? 'device_linked' : 'device_sending');
    return { body: {}, audit: { action: 'device.removed', target: address.device } };
  },
});

async function findDevice(
  params: Record<string, string>,
  { store, workspace }: DashboardDeps,
): Promise<Required<SeenDevice>> {
  const address = { workspace, device: deviceOf(params) };
  const device = await readDevice(store, address);
  if (!device) throw new ConsoleError('not_found');
  return { ...address, createdAtMs: device.createdAtMs };
}
