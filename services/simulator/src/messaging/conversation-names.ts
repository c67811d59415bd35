import type { proto } from '@whiskeysockets/baileys';
import { namespaceOf } from '../network/namespace-of.js';
import type { Network } from '../network/network.js';

/** What a conversation with a person is called in the histories of an account: by its own namespace, with the other name beside it. */
export function namesOf(network: Network, number: string, person: string): proto.IConversation & { id: string } {
  const { directory, rules } = network;
  const lidJid = directory.jidOf(person, 'lid');
  const id = directory.jidOf(person, namespaceOf(network, number, 'pn'));
  return {
    id,
    lidJid,
    ...(rules.hasNamespaces && directory.numberOf(person) && { pnJid: directory.jidOf(person, 'pn') }),
  };
}
