import type { Reason } from '@gateway/contracts/device-state';
import type { DisconnectOutcome } from '@gateway/messenger/disconnect-outcomes';
import { defer } from '@gateway/runtime/deferred';
import { toError } from '@gateway/runtime/errors';
import { cancelSend } from '@gateway/store/change-send';
import { retireKeys } from '@gateway/store/device-keys';
import { recordAccount } from '@gateway/store/devices';
import { listOpenSends } from '@gateway/store/read-send';
import { type DeviceTask, observe, observeEnd, openTaskSession } from './device-task.js';
import { logOutAndWipe } from './log-out.js';

/**
 * One linking attempt, from a fresh socket to `linked` or to the reason why not:
 *
 *   old account logged out -> codes shown, each replacing the last -> the phone accepts -> keys committed
 *   -> the network asks for a restart -> the device is `linked`, and a sender opens its socket
 *
 * Anything that goes wrong wipes the half-made keys: an attempt leaves a linked device or nothing.
 */
export async function linkDevice(task: DeviceTask): Promise<void> {
  await logOutAndWipe(task);
  if (task.signal.aborted) return;
  const { outcome, phone } = await runAttempt(task);
  if (phone) return finishLink(task, phone);
  await retireKeys(task.store, task.lease, { quarantine: false });
  if (!task.signal.aborted) await observeEnd(task, reasonOf(outcome));
}

interface AttemptEnd {
  outcome: DisconnectOutcome;
  /** Digits of the account that accepted, if one did. */
  phone: string | undefined;
}

async function runAttempt(task: DeviceTask): Promise<AttemptEnd> {
  const { desired, signal, logger } = task;
  let phone: string | undefined;
  const closed = defer<DisconnectOutcome>();
  // Codes are written one after the other, so that an older one never overwrites a newer one.
  let written: Promise<void> = Promise.resolve();
  const session = await openTaskSession(
    task,
    {
      onCode: ({ value, expiresAtMs }) => {
        const code = { code: value, codeExpiresAtMs: expiresAtMs };
        written = written
          .then(() => observe(task, { status: 'connecting', reason: 'linking', ...code }))
          .catch((thrown: unknown) => logger.warn('code not written', { error: toError(thrown) }));
      },
      onLinked: (account) => {
        phone = account.phone;
      },
      onClosed: closed.resolve,
    },
    desired.method === 'pairingCode' ? { method: 'pairing', phone: desired.phone ?? '' } : { method: 'qr' },
  );
  const close = () => void session.close();
  signal.addEventListener('abort', close, { once: true });
  if (signal.aborted) close();
  const outcome = await closed.promise;
  signal.removeEventListener('abort', close);
  await session.close();
  await written;
  return { outcome, phone };
}

async function finishLink(task: DeviceTask, phone: string): Promise<void> {
  const { store, lease, logger } = task;
  const { changed } = await recordAccount(store, lease.address, phone);
  // What was queued was meant to come from the account before.
  if (changed)
    for (const messageId of await listOpenSends(store, lease.address))
      await cancelSend(store, lease.address, messageId);
  await observe(task, { status: 'connecting', reason: 'restoring', phone }, 'linked');
  logger.info('device linked', { otherAccount: changed });
}

function reasonOf(outcome: DisconnectOutcome): Reason {
  switch (outcome.kind) {
    case 'linkExpired':
      return 'link_expired';
    case 'linkRefused':
    case 'loggedOut':
      return 'link_refused';
    case 'banned':
      return 'banned';
    case 'temporarilyBanned':
      return 'temporarily_banned';
    case 'clientOutdated':
      return 'client_outdated';
    case 'notMultiDevice':
      return 'not_multi_device';
    case 'rateLimited':
      return 'rate_limited';
    case 'untrusted':
      return 'untrusted';
    default:
      return 'network';
  }
}
