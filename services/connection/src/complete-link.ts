import { disconnectPolicy } from '@gateway/messenger/codes/disconnect-policy';
import { retireKeys } from '@gateway/store/devices/keys/device-keys';
import { type DeviceTask, observe, observeEnd, seenOf } from './device-task.js';
import { logInOnce } from './log-in-once.js';
import { readAccount } from './log-out.js';

/**
 * The one login that the network expects soon after a link, when no sender has come for it: it completes the link on the phone,
 * and gives the network the keys that others need to write to the device. Then the device is released, and waits for
 * a sender like any other. Never repeated, so that a crash here ends only one process.
 */
export async function completeLink(task: DeviceTask): Promise<void> {
  const account = await readAccount(task);
  if (account.kind !== 'linked' || !(await task.clientVersion.mayLogIn())) return;
  const linked = { status: 'connecting', reason: 'restoring', phone: account.phone } as const;
  // Before the login: from here on it is not due any more.
  if ((await observe(task, linked)) === 'moved') return;
  const end = await logInOnce(task);
  if (task.signal.aborted || !end) return;
  const { next, reason } = disconnectPolicy(end, task.clock.nowMs());
  if (next === 'deleteKeys') {
    await retireKeys(task.store, task.ownership, { quarantine: true });
    return observeEnd(task, reason, end);
  }
  await observe(task, { ...linked, ...seenOf(task, end) });
}
