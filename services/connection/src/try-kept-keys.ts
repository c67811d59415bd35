import { disconnectPolicy } from '@gateway/messenger/codes/disconnect-policy';
import { defer } from '@gateway/runtime/deferred';
import { retireKeys } from '@gateway/store/devices/keys/device-keys';
import { type DeviceTask, networkReasonOf, observe, openSessionUntil, type TaskEnd } from './device-task.js';
import { LOG_IN_MS, readAccount } from './log-out.js';
import { reasonOfAttempt } from './reason-of-attempt.js';

/**
 * One login with the keys of a parked device. `refused`: a new link must be made, for the network takes these keys no
 * more. `ended`: the device is `linked` again, or stays parked, because the network did not judge its keys or gave their
 * place to the other client at once: to log that one out is the user's to say (`forceNew`).
 */
export async function tryKeptKeys(task: DeviceTask): Promise<'ended' | 'refused'> {
  const account = await readAccount(task);
  if (account.kind !== 'linked') return 'refused';
  const end = await logIn(task);
  if (task.signal.aborted) return 'ended';
  if (!end) {
    await observe(task, { status: 'connecting', reason: 'restoring', phone: account.phone }, 'linked');
    return 'ended';
  }
  if (disconnectPolicy(end, task.clock.nowMs()).next === 'deleteKeys') {
    await retireKeys(task.store, task.lease, { quarantine: true });
    return 'refused';
  }
  await stayParked(task, end);
  return 'ended';
}

/** `undefined`: the network let us in. What it says of messages is left for the sender that comes. */
async function logIn(task: DeviceTask): Promise<TaskEnd | undefined> {
  const opened = defer<undefined>();
  const { session, closed } = await openSessionUntil(task.signal, task, {
    on: { open: () => opened.resolve(undefined), receipt: () => new Promise(() => {}) },
    openTimeoutMs: LOG_IN_MS,
  });
  const end = await Promise.race([opened.promise, closed]);
  await session.close();
  return end;
}

async function stayParked(task: DeviceTask, end: TaskEnd): Promise<void> {
  const reason = reasonOfAttempt(end, task.clock.nowMs());
  await observe(task, { status: 'disconnected', reason, ...networkReasonOf(end) }, 'parked');
}
