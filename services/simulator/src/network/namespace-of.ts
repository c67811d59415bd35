import type { Addressing } from '../directory/jids.js';
import type { Network } from './network.js';

/**
 * How people are named to the clients of an account. Since 2026 that is a state of the account, whatever namespace the
 * other side used; before, both sides saw what the sender had written.
 */
export function namespaceOf({ rules, accounts }: Network, number: string, asWritten: Addressing): Addressing {
  if (!rules.hasNamespaces) return asWritten;
  return accounts.find(number)?.addressing ?? asWritten;
}

/**
 * How the one who sends a receipt about a message is named to its sender. Since 2026 a device that asks for a message
 * again does so by hidden identifier, whatever the sender's account uses.
 */
export function receiptNamespace({ rules }: Network, type: string | undefined, otherwise: Addressing): Addressing {
  return type === 'retry' && rules.hasNamespaces ? 'lid' : otherwise;
}
