import type { DesiredState, ObservedState, Reason, Want } from '@gateway/contracts/device-state';
import { openSession } from '@gateway/messenger/open-session';
import { createSessionCaches } from '@gateway/messenger/session-caches';
import type { MessengerSession, SessionEvents } from '@gateway/messenger/session-types';
import type { Endpoint } from '@gateway/messenger/trust';
import type { Clock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logger';
import { deviceKeyStore } from '@gateway/store/device-keys';
import { recordObserved } from '@gateway/store/device-state';
import { ringDoorbell } from '@gateway/store/doorbells';
import type { HeldLease } from '@gateway/store/lease-keeper';
import type { Store } from '@gateway/store/store';

export interface TaskDeps {
  store: Store;
  clock: Clock;
  logger: Logger;
  endpoint: Endpoint;
}

/** One duty for one device, under its lease. */
export interface DeviceTask extends TaskDeps {
  lease: HeldLease;
  /** The state that this task acts on; what it writes is dropped when the user has asked for something else since. */
  desired: DesiredState;
  /** Aborted when the task must end: the lease is lost, the process stops, or something else is wanted by now. */
  signal: AbortSignal;
}

/** Writes what this task sees, and tells whoever waits for it. */
export async function observe(task: DeviceTask, observed: Omit<ObservedState, 'sinceMs'>, want?: Want): Promise<void> {
  const { store, lease, desired } = task;
  const attempt = desired.attemptId ? { attemptId: desired.attemptId } : {};
  await recordObserved(store, lease, {
    actedOn: desired,
    observed: { ...observed, ...attempt },
    ...(want && { want }),
  });
  await ringDoorbell(store, { topic: 'observed', ...lease.address });
}

export async function observeEnd(task: DeviceTask, reason: Reason): Promise<void> {
  await observe(task, { status: 'disconnected', reason }, 'unlinked');
}

/** Nothing is sent from here; the library asks for it all the same. */
const ACK_TIMEOUT_MS = 15_000;

const IGNORED: SessionEvents = {
  onCode: () => {},
  onLinked: () => {},
  onOpen: () => {},
  onReceipt: () => {},
  onLateRefusal: () => {},
  onClosed: () => {},
};

/** A socket of this device. The connection service never sends messages, so it has none to repeat. */
export function openTaskSession(
  task: DeviceTask,
  events: Partial<SessionEvents>,
  link?: { method: 'qr' } | { method: 'pairing'; phone: string },
): Promise<MessengerSession> {
  return openSession({
    keyStore: deviceKeyStore(task.store, task.lease),
    caches: createSessionCaches(),
    endpoint: task.endpoint,
    logger: task.logger,
    getMessage: async () => undefined,
    assertMayWrite: () => task.lease.assertHeld(),
    ackTimeoutMs: ACK_TIMEOUT_MS,
    events: { ...IGNORED, ...events },
    ...(link && { link }),
  });
}
