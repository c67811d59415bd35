import type { ObservedState, Want } from '@gateway/contracts/device-state';
import { type DeviceAddress, type MessageId, makeAttemptId, parseMessageId } from '@gateway/contracts/ids';
import { recordResults } from '@gateway/store/change-send';
import { readDeviceState, recordObserved, requestLink } from '@gateway/store/device-state';
import { ensureDevice } from '@gateway/store/devices';
import { ringDoorbell } from '@gateway/store/doorbells';
import { acquireLease, type Lease, releaseLease } from '@gateway/store/leases';
import { beatHeart } from '@gateway/store/members';
import type { Store } from '@gateway/store/store';

export const DEFAULT: DeviceAddress = { workspace: 'main', device: 'default' };
export const ACCOUNT = '447700900123';

export interface DeviceOwner {
  lease: Lease;
  /** Writes down what the owner sees, as an answer to what is desired now, and rings. */
  observe(observed: Omit<ObservedState, 'sinceMs' | 'attemptId'>, want?: Want): Promise<void>;
  release(): Promise<void>;
}

/** What connection and sender do to a device, without a socket. */
export async function ownDevice(store: Store, address: DeviceAddress = DEFAULT): Promise<DeviceOwner> {
  await ensureDevice(store, address);
  const lease = (await acquireLease(store, address, { owner: 'test-owner', ttlMs: 60 * 60_000 }))!;
  return {
    lease,
    observe: async (observed, want) => {
      const { desired } = await readDeviceState(store, address);
      await recordObserved(store, lease, {
        actedOn: desired,
        observed: { ...observed, ...(desired?.attemptId && { attemptId: desired.attemptId }) },
        ...(want && { want }),
      });
      await ringDoorbell(store, { topic: 'observed', ...address });
    },
    release: () => releaseLease(store, lease),
  };
}

/** A device with an account that is online. */
export async function linkDevice(store: Store, address: DeviceAddress = DEFAULT): Promise<DeviceOwner> {
  const owner = await ownDevice(store, address);
  await requestLink(store, address, { attemptId: makeAttemptId(), method: 'qrCode', forceNew: false });
  await owner.observe({ status: 'connected', phone: ACCOUNT, name: 'Ada' }, 'linked');
  return owner;
}

/** What a sender does once the network has taken the one message of a send. */
export async function acknowledgeSend(store: Store, { lease }: DeviceOwner, messageId: MessageId): Promise<void> {
  const { tag } = parseMessageId(messageId)!;
  await recordResults(store, lease, { tag, nowMs: Date.now(), events: [{ recipient: 0, part: 0, event: 'acked' }] });
  await ringDoorbell(store, { topic: 'results', ...lease.address });
}

/** A sender with room for devices, for as long as any test takes. */
export async function addSender(store: Store, load = { held: 0, capacity: 10 }): Promise<void> {
  await beatHeart(store, 'main', 'sender', { self: { id: 'test-sender', ...load }, ttlMs: 60 * 60_000 });
}
