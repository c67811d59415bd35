import { hmacSha256 } from '../crypto/ciphers.js';
import { isGivenToken, saltOf } from '../messaging/privacy-tokens.js';
import type { Outgoing } from '../messaging/read-outgoing.js';
import type { Network } from '../network/network.js';
import { childBytes } from '../wire/nodes.js';

/** What a message shows for itself: a token that its recipient gave, one made from the salt, or that it needs none. */
type Trust = 'given' | 'made' | 'exempt' | 'none';

/**
 * Since 2026 a message to one person shows why it may reach them: a token that they gave to the sender (`tctoken`), else
 * one that the sender's client makes from the account's salt (`cstoken`). The network does not look at what was written
 * before: an old conversation is one whose token the client still has. What goes out again shows one, too.
 */
export function trustIn(network: Network, sender: string, message: Outgoing): Trust {
  const { stanza, recipient, group, broadcast } = message;
  if (!network.rules.wantsTokens || group || broadcast || recipient === sender) return 'exempt';
  const account = network.accounts.ensure(sender);
  const given = childBytes(stanza, 'tctoken');
  if (given && isGivenToken(network, { giver: recipient, holder: sender }, given)) return 'given';
  if (!account.tokensRequired) return 'exempt';
  return account.hasSalt && isMadeToken(network, sender, message) ? 'made' : 'none';
}

function isMadeToken(network: Network, sender: string, { stanza, recipient, to }: Outgoing): boolean {
  const made = childBytes(stanza, 'cstoken');
  if (!made) return false;
  // A client may not have heard yet that the person has another identifier.
  const lids = [network.directory.jidOf(recipient, 'lid'), to.replace(/:\d+@/, '@')];
  return lids.some((lid) => hmacSha256(saltOf(network, sender), Buffer.from(lid)).equals(made));
}
