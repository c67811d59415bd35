import { disconnectPolicy } from '@gateway/messenger/codes/disconnect-policy';
import { sleep } from '@gateway/runtime/clock';
import { noteReplaced } from '@gateway/store/devices/incidents/count-replaced';
import { retireKeys } from '@gateway/store/devices/keys/device-keys';
import { backOff, underCount } from './count-hold.js';
import {
  type DeviceTask,
  networkReasonOf,
  observe,
  observeEnd,
  openSessionUntil,
  type TaskEnd,
} from './device-task.js';
import { senderHasRoom } from './sender-room.js';

const LOOK_FOR_SENDER_MS = 1_000;
const VERSION_PAUSE_MS = 5_000;
const LONGEST_MS = 60 * 60_000;

/**
 * Keeps a linked device connected while no sender has room for it, and lets go as soon as one does. It does not send,
 * and it does not reconnect: when the socket ends, the device is free again after the pause that the reason calls for,
 * which is written down for a sender that comes earlier. What becomes of sent messages is not confirmed to the network,
 * which therefore says it again to the sender.
 */
export async function holdDevice(task: DeviceTask): Promise<void> {
  if (!(await task.clientVersion.mayLogIn())) return waitForVersion(task);
  const found = new AbortController();
  const timer = setInterval(() => {
    senderHasRoom(task.store, task.lease.address.workspace).then(
      (hasRoom) => hasRoom && found.abort(),
      () => {},
    );
  }, LOOK_FOR_SENDER_MS);
  const letGo = AbortSignal.any([task.signal, found.signal]);
  try {
    await backOff(task, letGo);
    if (!letGo.aborted) await underCount(task, async () => afterClose(task, await keepConnected(task, letGo), letGo));
  } finally {
    clearInterval(timer);
  }
}

/** The network refuses the version of every device: none logs in before another one is set. */
async function waitForVersion(task: DeviceTask): Promise<void> {
  await observe(task, { status: 'connecting', reason: 'client_outdated' });
  await sleep(VERSION_PAUSE_MS, task.signal).catch(() => {});
}

async function keepConnected(task: DeviceTask, letGo: AbortSignal): Promise<TaskEnd> {
  const { closed } = await openSessionUntil(letGo, task, {
    on: {
      open: ({ account: { phone, name } }, session) => {
        observe(task, { status: 'connected', phone, name: name ?? phone }).catch(() => session.close());
      },
      receipt: () => new Promise(() => {}),
    },
  });
  return closed;
}

async function afterClose(task: DeviceTask, outcome: TaskEnd, letGo: AbortSignal): Promise<void> {
  const { store, lease, clock } = task;
  const { next, reason, afterMs = 0 } = disconnectPolicy(outcome, clock.nowMs());
  const seen = { reason, ...networkReasonOf(outcome) };
  if (next === 'release') return;
  if (next === 'deleteKeys') {
    await retireKeys(store, lease, { quarantine: true });
    return observeEnd(task, reason, outcome);
  }
  if (next === 'reconnectOrPark' && (await noteReplaced(store, lease, clock.nowMs())) === 'tooOften') {
    task.logger.error('device parked: another client uses its keys');
    await observe(task, { status: 'disconnected', ...seen }, 'parked');
    return;
  }
  // After a lost network the wait for a sender is pause enough.
  const ms = Math.min(afterMs, LONGEST_MS);
  await observe(task, { status: 'connecting', ...seen, ...(ms > 0 && { notBeforeMs: Math.ceil(clock.nowMs() + ms) }) });
  await sleep(ms, letGo).catch(() => {});
}
