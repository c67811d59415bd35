import { disconnectPolicy } from '@gateway/messenger/codes/disconnect-policy';
import { retireKeys } from '@gateway/store/devices/keys/device-keys';
import { type DeviceTask, observe, seenOf, type TaskEnd } from './device-task.js';
import { logInOnce } from './log-in-once.js';
import { readAccount } from './log-out.js';
import { reasonOfAttempt } from './reason-of-attempt.js';

/**
 * One login with the keys of a parked device. `refused`: a new link is needed, because the network no longer accepts these
 * keys. `ended`: the device is `linked` again, or stays parked, because the network did not answer, or the
 * other client took over at once: only the user decides to log that one out (`forceNew`).
 */
export async function tryKeptKeys(task: DeviceTask): Promise<'ended' | 'refused'> {
  const account = await readAccount(task);
  if (account.kind !== 'linked') return 'refused';
  const end = await logInOnce(task);
  if (task.signal.aborted) return 'ended';
  if (!end) {
    await observe(task, { status: 'connecting', reason: 'restoring', phone: account.phone }, 'linked');
    return 'ended';
  }
  if (disconnectPolicy(end, task.clock.nowMs()).next === 'deleteKeys') {
    await retireKeys(task.store, task.ownership, { quarantine: true });
    return 'refused';
  }
  await stayParked(task, end);
  return 'ended';
}

async function stayParked(task: DeviceTask, end: TaskEnd): Promise<void> {
  const reason = reasonOfAttempt(end, task.clock.nowMs());
  await observe(task, { ...seenOf(task, end), status: 'disconnected', reason }, 'parked');
}
