import { phoneOfLinked } from '@gateway/messenger/linking/linked-account';
import { defer } from '@gateway/runtime/deferred';
import { toError } from '@gateway/runtime/errors';
import { deviceKeyStore, retireKeys } from '@gateway/store/devices/keys/device-keys';
import { waitOutPause } from './asked-pause.js';
import { type DeviceTask, observe, openSessionUntil } from './device-task.js';
import { LOG_IN_MS } from './log-in-once.js';

/** For the confirmation: ten seconds together with the login, as the user waits. */
const LOG_OUT_MS = 4_000;

/** The user wants no account here and no process holds a socket: log in to log out, else delete the keys and report it. */
export async function unlinkDevice(task: DeviceTask): Promise<void> {
  const outcome = await logOutAndWipe(task);
  if (outcome === 'interrupted') return;
  await observe(task, {
    status: 'disconnected',
    reason: 'disconnected',
    logout: outcome === 'unconfirmed' ? 'unconfirmed' : 'confirmed',
  });
}

/**
 * Leaves no keys behind. `unconfirmed`: the network did not confirm it, and the phone may still list the device; also
 * during a pause that the network asked for.
 * `interrupted`: the task must end before the network has confirmed; the keys stay for the next attempt.
 */
export async function logOutAndWipe(
  task: DeviceTask,
): Promise<'nothing' | 'confirmed' | 'unconfirmed' | 'interrupted'> {
  const { kind } = await readAccount(task);
  const confirmed = kind === 'linked' && (await logOut(task));
  if (task.signal.aborted && !confirmed) return 'interrupted';
  await retireKeys(task.store, task.ownership, { quarantine: false });
  if (kind === 'none') return 'nothing';
  return confirmed ? 'confirmed' : 'unconfirmed';
}

type Account = { kind: 'none' } | { kind: 'linked'; phone: string } | { kind: 'unreadable' };

/** The account whose keys are in Redis. */
export async function readAccount({ store, ownership, logger }: DeviceTask): Promise<Account> {
  try {
    const creds = await deviceKeyStore(store, ownership).readCreds();
    const phone = phoneOfLinked(creds);
    return phone ? { kind: 'linked', phone } : { kind: 'none' };
  } catch (thrown) {
    // Keys that cannot be opened can neither log in nor out.
    logger.error('credentials cannot be read', { error: toError(thrown) });
    return { kind: 'unreadable' };
  }
}

async function logOut(task: DeviceTask): Promise<boolean> {
  if ((await waitOutPause(task)) || (await task.clientVersion.read()).isRefused) return false;
  const opened = defer<void>();
  const { session, closed } = await openSessionUntil(task.signal, task, {
    on: { open: () => opened.resolve() },
    openTimeoutMs: LOG_IN_MS,
  });
  try {
    const end = await Promise.race([opened.promise, closed]);
    // Already logged out: nothing more to send.
    if (end) return end.kind === 'loggedOut';
    await session.logOut(LOG_OUT_MS);
    return true;
  } catch (thrown) {
    task.logger.warn('logout not confirmed', { error: toError(thrown) });
    return false;
  } finally {
    await session.close();
  }
}
