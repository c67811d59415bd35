import { type BinaryNode, node } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** "I am here", or "tell me about somebody". */
export function handlePresence(server: Server, { session, device }: Client, presence: BinaryNode): void {
  const { directory, accounts, phones } = server.network;
  const { type, to, name } = presence.attrs;
  if (type === 'subscribe') {
    const person = directory.resolve(to);
    if (!person || !directory.exists(person.number)) return;
    const kind = phones.habitsOf(person.number).online ? undefined : 'unavailable';
    return session.send(node('presence', { from: to, type: kind }));
  }
  if (name) accounts.ensure(device.number).pushName = name;
  if (type) device.available = type === 'available';
}

/** "Is typing ..." goes to the clients of the person it is for. */
export function handleChatState(server: Server, { device }: Client, chatState: BinaryNode): void {
  const { directory, accounts } = server.network;
  const person = directory.resolve(chatState.attrs.to);
  if (!person) return;
  const from = directory.jidOf(device.number, person.addressing);
  for (const other of accounts.find(person.number)?.devices.values() ?? []) {
    other.connection?.send(node('chatstate', { from }, chatState.content));
  }
}
