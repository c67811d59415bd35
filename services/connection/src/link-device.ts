import { readDeviceState } from '@gateway/store/devices/device-state';
import { notePasskeyDemand } from '@gateway/store/devices/incidents/note-passkey-demand';
import { retireKeys } from '@gateway/store/devices/keys/device-keys';
import { takeAccount } from '@gateway/store/devices/take-account';
import { type AskedPause, waitOutPause } from './asked-pause.js';
import { CodeWriter } from './code-writer.js';
import { type DeviceTask, observe, observeEnd, openSessionUntil, type TaskEnd } from './device-task.js';
import { logOutAndWipe, readAccount } from './log-out.js';
import { reasonOfAttempt } from './reason-of-attempt.js';
import { tryKeptKeys } from './try-kept-keys.js';

/**
 * One linking attempt, from a fresh socket to `linked` or to the reason why not:
 *
 *   (a parked device: its keys tried once; `linked` again, or the network refuses them)
 *   -> old account logged out -> codes shown, each replacing the last -> scanned; the network wants another scan (2026)
 *   -> the phone accepts -> keys committed
 *   -> the network asks for a restart -> the device is `linked`, and a sender opens its socket
 *
 * Any failure deletes the incomplete keys: an attempt leaves a linked device or nothing. If a process dies
 * halfway, the next one shows codes of its own, or reports `linked` if the phone has already accepted.
 */
export async function linkDevice(task: DeviceTask): Promise<void> {
  const accepted = await findAccepted(task);
  if (accepted) return finishLink(task, accepted);
  const pause = await waitOutPause(task);
  if (pause) return refuse(task, pause);
  if ((await task.clientVersion.read()).isRefused) return refuse(task, { reason: 'client_outdated' });
  if (task.desired.keepsKeys && (await tryKeptKeys(task)) === 'ended') return;
  if ((await logOutAndWipe(task)) === 'interrupted') return;
  // Removes the code of a previous process, and marks keys that are found later as those of this attempt.
  if ((await observe(task, { status: 'connecting', reason: 'linking' })) === 'moved') return;
  const { outcome, phone } = await runAttempt(task);
  if (phone) return finishLink(task, phone);
  if (task.signal.aborted) return;
  const reason = reasonOfAttempt(outcome, task.clock.nowMs());
  // Incomplete keys: those of an earlier link were deleted with its logout, before this attempt began.
  await retireKeys(task.store, task.ownership, { quarantine: false });
  await notePasskeyDemand(task.store, task.ownership, reason === 'passkey_required');
  await observeEnd(task, reason, outcome);
}

/** The device opens no socket for now. An existing account stays: nothing could be linked in its place. */
async function refuse(task: DeviceTask, why: AskedPause | { reason: 'client_outdated' }): Promise<void> {
  const account = await readAccount(task);
  if (account.kind === 'linked' && !task.desired.keepsKeys) {
    await observe(task, { status: 'connecting', ...why, phone: account.phone }, 'linked');
    return;
  }
  await observe(task, { status: 'disconnected', ...why }, account.kind === 'linked' ? 'parked' : 'unlinked');
}

/** The account that accepted this very attempt, before its process died. */
async function findAccepted(task: DeviceTask): Promise<string | undefined> {
  const { observed } = await readDeviceState(task.store, task.ownership.address);
  if (!observed?.attemptId || observed.attemptId !== task.desired.attemptId) return undefined;
  const account = await readAccount(task);
  return account.kind === 'linked' ? account.phone : undefined;
}

interface AttemptEnd {
  outcome: TaskEnd;
  /** Digits of the account that accepted, if one did. */
  phone: string | undefined;
}

async function runAttempt(task: DeviceTask): Promise<AttemptEnd> {
  const { desired, signal } = task;
  let phone: string | undefined;
  const codes = new CodeWriter(task);
  const { closed } = await openSessionUntil(signal, task, {
    on: {
      code: ({ code }) => codes.write(code),
      linked: ({ account }) => {
        phone = account.phone;
      },
    },
    link: desired.method === 'pairingCode' ? { method: 'pairing', phone: desired.phone ?? '' } : { method: 'qr' },
  });
  const outcome = await closed;
  await codes.written;
  return { outcome, phone };
}

async function finishLink(task: DeviceTask, phone: string): Promise<void> {
  const { store, ownership, clock, logger } = task;
  await notePasskeyDemand(store, ownership, false);
  const { isOther } = await takeAccount(store, ownership, { phone, nowMs: clock.nowMs() });
  await observe(task, { status: 'connecting', reason: 'restoring', phone, firstLogin: 'due' }, 'linked');
  logger.info('device linked', { otherAccount: isOther });
}
