import type { ObservedState, Want } from '@gateway/contracts/devices/device-state';
import { type DeviceAddress, type MessageId, makeAttemptId, parseMessageId } from '@gateway/contracts/ids';
import { sleep } from '@gateway/runtime/clock';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState, recordObserved, requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { beatHeart, leaveMembers } from '@gateway/store/fleet/members';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { recordResults } from '@gateway/store/sends/change-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';

export const DEFAULT: DeviceAddress = { workspace: 'main', device: 'default' };
export const ACCOUNT = '447700900123';

export interface DeviceOwner {
  ownership: Ownership;
  /** Writes down what the owner sees, as an answer to what is desired now, and rings. */
  observe(observed: Omit<ObservedState, 'sinceMs' | 'attemptId'>, want?: Want): Promise<void>;
  release(): Promise<void>;
}

/** What connection and sender do to a device, without a socket. */
export async function ownDevice(store: Store, address: DeviceAddress = DEFAULT): Promise<DeviceOwner> {
  await ensureDevice(store, address);
  const ownership = (await takeDevice(store, address, { owner: 'test-owner', ttlMs: 60 * 60_000 }))!;
  return {
    ownership,
    observe: async (observed, want) => {
      const { desired } = await readDeviceState(store, address);
      await recordObserved(store, ownership, {
        actedOn: desired,
        observed: { ...observed, ...(desired?.attemptId && { attemptId: desired.attemptId }) },
        ...(want && { want }),
      });
      await ringDoorbell(store, { topic: 'observed', ...address });
    },
    release: () => giveDeviceBack(store, ownership),
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
export async function acknowledgeSend(store: Store, { ownership }: DeviceOwner, messageId: MessageId): Promise<void> {
  const { tag } = parseMessageId(messageId)!;
  await recordResults(store, ownership, {
    tag,
    nowMs: Date.now(),
    events: [{ recipient: 0, part: 0, event: 'acked' }],
  });
  await ringDoorbell(store, { topic: 'results', ...ownership.address });
}

/** What a sender does of which the network takes everything at once, until it is stopped. */
export function acknowledgeAll(store: Store, owner: DeviceOwner): () => Promise<void> {
  let isStopped = false;
  const work = async () => {
    while (!isStopped) {
      for (const messageId of await listOpenSends(store, owner.ownership.address)) {
        await acknowledgeSend(store, owner, messageId);
      }
      await sleep(20);
    }
  };
  const working = work();
  return () => {
    isStopped = true;
    return working;
  };
}

export interface TestSender {
  /** What it says of itself from now on. */
  report(load: { held: number; capacity: number }): Promise<void>;
  leave(): Promise<void>;
}

/** A sender with room for devices that is heard of, as a real one is, until it leaves. */
export async function addSender(store: Store): Promise<TestSender> {
  let self = { id: 'test-sender', held: 0, capacity: 10 };
  const beat = () => beatHeart(store, { self, ttlMs: 60_000 });
  await beat();
  const heart = setInterval(() => void beat().catch(() => undefined), 1_000);
  return {
    report: async (load) => {
      self = { ...self, ...load };
      await beat();
    },
    leave: async () => {
      clearInterval(heart);
      await leaveMembers(store, self.id);
    },
  };
}
