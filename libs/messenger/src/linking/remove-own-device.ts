import { SessionEndedError, TimeoutError } from '../session/session-errors.js';
import { within } from '../session/within.js';
import { type BaileysSocket, type BinaryNode, S_WHATSAPP_NET } from '../socket/baileys.js';

/**
 * Asks the network to remove this device from its account. Rejects when that is not confirmed within `timeoutMs`.
 * @param options.dropped resolves when the connection is over, with whether the network ended it because the device is
 *   gone: it may do so before it has answered, and that says the same.
 */
export async function removeOwnDevice(
  sock: BaileysSocket,
  { timeoutMs, dropped }: { timeoutMs: number; dropped: Promise<boolean> },
): Promise<void> {
  const removal: BinaryNode = {
    tag: 'iq',
    attrs: { to: S_WHATSAPP_NET, type: 'set', xmlns: 'md' },
    content: [{ tag: 'remove-companion-device', attrs: { jid: sock.user!.id, reason: 'user_initiated' } }],
  };
  const confirmed = sock.query(removal, 2 * timeoutMs).then((answer: BinaryNode | undefined) => {
    if (!answer) throw new TimeoutError('logout', timeoutMs);
  });
  const gone = dropped.then((isGone) => {
    if (!isGone) throw new SessionEndedError();
  });
  await within({ timeoutMs, what: 'logout' }, Promise.race([confirmed, gone]));
}
