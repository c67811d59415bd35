import type { Outgoing } from '../messaging/read-outgoing.js';
import type { Network } from '../network/network.js';

/** Why a message to one person is in the wrong namespace, by the codes that the network answers with. */
const WRONG_NAMESPACE = { lidExpected: 463, pnExpected: 400, mixed: 400, strayDevice: 400 } as const;

/**
 * Since 2026 an account writes to people in one namespace, its own: by hidden identifier once it has migrated, else by
 * number. The namespace belongs to the sender's account, whatever the recipient's is. Groups, statuses and what a client
 * tells its own phone are exempt; people without a number have only the one name.
 */
export function namespaceRefusal(network: Network, sender: string, message: Outgoing): number | undefined {
  if (!network.rules.hasNamespaces || message.group || message.broadcast) return undefined;
  const strays = message.targets.some(({ place }) => place.number !== message.recipient && place.number !== sender);
  if (strays) return WRONG_NAMESPACE.strayDevice;
  if (message.stanza.attrs.category === 'peer' && message.recipient === sender) return undefined;
  const byLid = isLid(message.to);
  const isMigrated = network.accounts.ensure(sender).addressing === 'lid' || hasNoNumber(network, message.recipient);
  if (isMigrated && !byLid) return WRONG_NAMESPACE.lidExpected;
  if (!isMigrated && byLid) return WRONG_NAMESPACE.pnExpected;
  const isMixed = message.targets.some(({ jid }) => isLid(jid) !== byLid);
  return isMixed ? WRONG_NAMESPACE.mixed : undefined;
}

const hasNoNumber = ({ directory }: Network, person: string) => directory.numberOf(person) === undefined;
const isLid = (jid: string) => jid.endsWith('@lid');

/** The number of the recipient is missing on a message by hidden identifier: its phone cannot tell who writes. */
export function lacksRecipientNumber(network: Network, sender: string, message: Outgoing): boolean {
  const { to, stanza, recipient, group, broadcast } = message;
  if (!network.rules.wantsRecipientNumber || group || broadcast || recipient === sender) return false;
  if (!isLid(to) || hasNoNumber(network, recipient)) return false;
  return network.directory.resolve(stanza.attrs.peer_recipient_pn)?.number !== recipient;
}
