import { mayAct, type UserRole } from '@gateway/contracts/console/users';
import type { DeviceLink, DeviceView } from '@gateway/contracts/console/views';
import { deriveStatus, UNAVAILABLE } from '@gateway/contracts/devices/device-state';
import type { Pace } from '@gateway/contracts/devices/pace';
import type { DeviceId, Workspace } from '@gateway/contracts/ids';
import { maskPhoneNumber } from '@gateway/contracts/people/phone-number';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import { digestOf } from '@gateway/store/console/digest';
import type { Store } from '@gateway/store/core/store';
import { readDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { type DeviceState, readDeviceState } from '@gateway/store/devices/device-state';
import { type Device, readDevice } from '@gateway/store/devices/devices';
import { hasSender } from '@gateway/store/fleet/members';

/** What many devices have in common, read once for all of them. */
export interface Common {
  hasSender: boolean;
  defaultDevice: DeviceId;
  defaultPace: Pace;
}

export interface CommonDeps {
  store: Store;
  workspace: Workspace;
  defaultPace: Pace;
}

export async function readCommon({ store, workspace, defaultPace }: CommonDeps): Promise<Common> {
  const [sender, defaultDevice] = await Promise.all([hasSender(store), readDefaultDevice(store, workspace)]);
  return { hasSender: sender, defaultDevice, defaultPace };
}

/** `undefined` for a device that was never made. Throws where the node of a Redis Cluster that has it is away. */
export async function readDeviceView(
  store: Store,
  address: { workspace: Workspace; device: DeviceId },
  common: Common,
): Promise<DeviceView | undefined> {
  const [device, state] = await Promise.all([readDevice(store, address), readDeviceState(store, address)]);
  return device && describe(address.device, device, state, common);
}

/** The same for a list, which has a line for one whose node is away. */
export async function readListedView(
  store: Store,
  address: { workspace: Workspace; device: DeviceId },
  common: Common,
): Promise<DeviceView | undefined> {
  try {
    return await readDeviceView(store, address, common);
  } catch (thrown) {
    unlessRedisIsAway(thrown);
    const { device: id } = address;
    const about = { id, name: id, isDefault: id === common.defaultDevice, createdAtMs: 0 };
    return { ...about, ...UNAVAILABLE, backlog: 0, pace: common.defaultPace, hasOwnPace: false };
  }
}

function describe(
  id: DeviceId,
  device: Device,
  state: DeviceState,
  { hasSender: isServed, defaultDevice, defaultPace }: Common,
): DeviceView {
  const { desired, observed, isOwned, restriction, waitingMessages } = state;
  const status = deriveStatus(desired, observed, isOwned, { hasSender: isOwned || isServed });
  const { sinceMs, notBeforeMs } = observed ?? {};
  const link = describeLink(state);
  const picture = status.status === 'connected' ? observed?.profilePic : undefined;
  return {
    ...{ id, name: device.displayName, isDefault: id === defaultDevice, createdAtMs: device.createdAtMs },
    status: status.status,
    ...(status.reason && { reason: status.reason }),
    ...(status.status === 'connected' && { phone: status.phone, accountName: status.name }),
    ...(status.status !== 'connected' && device.account && { phone: device.account }),
    ...(picture && { picture: digestOf(picture).slice(0, 12) }),
    ...(sinceMs && { sinceMs }),
    ...(notBeforeMs && { notBeforeMs }),
    ...{ pace: device.pace ?? defaultPace, hasOwnPace: device.pace !== undefined },
    backlog: Math.max(0, waitingMessages),
    ...(restriction && { restriction: describeRestriction(restriction) }),
    ...(link && { link }),
  };
}

function describeRestriction({ kind, sinceMs, untilMs }: NonNullable<DeviceState['restriction']>) {
  return { kind, sinceMs, ...(untilMs !== undefined && { untilMs }) };
}

/** A code is shown while the process lives that showed it: it dies with that socket. */
function describeLink({ desired, observed, isOwned }: DeviceState): DeviceLink | undefined {
  if (desired?.want !== 'linking' || desired.attemptId === undefined) return undefined;
  const { attemptId, method = 'qrCode' } = desired;
  const isOfAttempt = isOwned && observed?.attemptId === attemptId;
  const { code, codeExpiresAtMs } = isOfAttempt ? observed : {};
  return { attemptId, method, ...(code && { code }), ...(codeExpiresAtMs && { codeExpiresAtMs }) };
}

/** As a user of this role may see it. */
export function showTo(role: UserRole, view: DeviceView): DeviceView {
  if (mayAct(role, 'operator')) return view;
  const { link, phone, accountName, ...rest } = view;
  return {
    ...rest,
    ...(phone !== undefined && { phone: maskPhoneNumber(phone) }),
    // Without a name of its own an account goes by its number.
    ...(accountName !== undefined && {
      accountName: /^\d+$/.test(accountName) ? maskPhoneNumber(accountName) : accountName,
    }),
    ...(link && { link: { attemptId: link.attemptId, method: link.method } }),
  };
}
