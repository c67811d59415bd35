import { namespaceOf } from '../network/namespace-of.js';
import { type BinaryNode, node } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** "I am here", or "tell me about this person". */
export function handlePresence(server: Server, { session, device }: Client, presence: BinaryNode): void {
  const { directory, accounts, presences } = server.network;
  const { type, to = '', name } = presence.attrs;
  if (type === 'subscribe') {
    const person = directory.resolve(to);
    if (!person || !directory.exists(person.number)) return;
    presences.watch(person.number, session, to);
    return session.tellPresence(to, isHere(server, person.number));
  }
  if (name) accounts.ensure(device.number).pushName = name;
  if (!type) return;
  device.available = type === 'available';
  presences.tell(device.number, isHere(server, device.number));
}

/** Where a client is linked, its user is where it says; everybody else is there as long as the phone is on. */
function isHere({ network: { accounts, phones } }: Server, number: string): boolean {
  const account = accounts.find(number);
  return account?.isLinked ? account.isHere : phones.habitsOf(number).online;
}

/** "Is typing ..." goes to the clients of the person it is for. */
export function handleChatState(server: Server, { device }: Client, chatState: BinaryNode): void {
  const { directory, accounts } = server.network;
  const person = directory.resolve(chatState.attrs.to);
  if (!person) return;
  const from = directory.jidOf(device.number, namespaceOf(server.network, person.number, person.addressing));
  for (const other of accounts.find(person.number)?.devices.values() ?? []) {
    other.connection?.send(node('chatstate', { from }, chatState.content));
  }
}
