import { isLinked } from '@gateway/messenger/linked-account';
import { defer } from '@gateway/runtime/deferred';
import { toError } from '@gateway/runtime/errors';
import { deviceKeyStore, retireKeys } from '@gateway/store/device-keys';
import { type DeviceTask, observe, openTaskSession } from './device-task.js';

/** To open a socket and to be heard: the user waits for it. */
const LOG_OUT_MS = 10_000;

/** The user wants no account here and no process holds a socket: log in to log out, else wipe and say so. */
export async function unlinkDevice(task: DeviceTask): Promise<void> {
  const outcome = await logOutAndWipe(task);
  if (task.signal.aborted) return;
  await observe(task, {
    status: 'disconnected',
    reason: 'disconnected',
    logout: outcome === 'unconfirmed' ? 'unconfirmed' : 'confirmed',
  });
}

/** Leaves no keys behind. `unconfirmed`: the network did not hear of it, and the phone may still list the device. */
export async function logOutAndWipe(task: DeviceTask): Promise<'nothing' | 'confirmed' | 'unconfirmed'> {
  const linked = await hasAccount(task);
  const confirmed = linked && (await logOut(task));
  await retireKeys(task.store, task.lease, { quarantine: false });
  if (!linked) return 'nothing';
  return confirmed ? 'confirmed' : 'unconfirmed';
}

async function hasAccount({ store, lease, logger }: DeviceTask): Promise<boolean> {
  try {
    return isLinked(await deviceKeyStore(store, lease).readCreds());
  } catch (thrown) {
    // Keys that cannot be opened cannot log anything out.
    logger.error('credentials cannot be read, they are wiped', { error: toError(thrown) });
    return false;
  }
}

async function logOut(task: DeviceTask): Promise<boolean> {
  const deadline = AbortSignal.any([task.signal, AbortSignal.timeout(LOG_OUT_MS)]);
  const opened = defer<boolean>();
  const session = await openTaskSession(task, {
    onOpen: () => opened.resolve(true),
    // Logged out already, refused, not reachable: in each case there is nothing more to say to the network.
    onClosed: () => opened.resolve(false),
  });
  deadline.addEventListener('abort', () => opened.resolve(false), { once: true });
  try {
    if (!(await opened.promise)) return false;
    await session.logOut(LOG_OUT_MS / 2);
    return true;
  } catch (thrown) {
    task.logger.warn('log-out not confirmed', { error: toError(thrown) });
    return false;
  } finally {
    await session.close();
  }
}
