import { type DisconnectOutcome, refusesVersion } from '@gateway/messenger/codes/disconnect-outcomes';
import { sleep } from '@gateway/runtime/clock';
import { noteReplaced, REPLACED_PAUSE_MS } from '@gateway/store/devices/incidents/count-replaced';
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
import { reasonOf } from './reason-of.js';
import { senderHasRoom } from './sender-room.js';

const LOOK_FOR_SENDER_MS = 1_000;
const VERSION_PAUSE_MS = 5_000;

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
  const seen = { reason: reasonOf(outcome), ...networkReasonOf(outcome) };
  switch (outcome.kind) {
    case 'closedByUs':
    case 'fenced':
      return;
    case 'loggedOut':
    case 'notMultiDevice':
    case 'banned':
      await retireKeys(store, lease, { quarantine: true });
      return observeEnd(task, reasonOf(outcome), outcome);
    case 'replaced':
      if ((await noteReplaced(store, lease, clock.nowMs())) === 'tooOften') {
        task.logger.error('device parked: another client uses its keys');
        await observe(task, { status: 'disconnected', ...seen }, 'parked');
        return;
      }
      break;
  }
  const ms = pauseMs(outcome, clock.nowMs());
  await observe(task, { status: 'connecting', ...seen, ...(ms > 0 && { notBeforeMs: Math.ceil(clock.nowMs() + ms) }) });
  await sleep(ms, letGo).catch(() => {});
}

const LONG_MS = 5 * 60_000;
const LONGEST_MS = 60 * 60_000;

/** How long nobody here should try again; after a lost network the wait for a sender is pause enough. */
function pauseMs(outcome: DisconnectOutcome, nowMs: number): number {
  switch (outcome.kind) {
    case 'rateLimited':
      return outcome.minMs;
    case 'temporarilyBanned':
      return Math.min(outcome.untilMs ? outcome.untilMs - nowMs : LONG_MS, LONGEST_MS);
    case 'clientOutdated':
      return refusesVersion(outcome) ? 0 : LONG_MS;
    case 'untrusted':
      return LONG_MS;
    case 'replaced':
      return REPLACED_PAUSE_MS;
    default:
      return 0;
  }
}
