import { devicesNode } from '../accounts/device-list.js';
import type { Addressing } from '../directory/jids.js';
import { type BinaryNode, childNamed, childrenNamed, childrenOf, node, stamp, textOf } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** Whom a query asks about, as it named them. */
interface Asked {
  readonly number: string;
  readonly jid: string;
  readonly addressing: Addressing;
  /** The number as the client typed it, for contact look-ups. */
  readonly typed: string | undefined;
}

/** Contact look-ups: devices, hidden identifiers, status, ... for many people at once, one answer node per person and protocol. */
export function answerUsync(server: Server, { session }: Client, query: BinaryNode): void {
  server.network.counters.usyncQueries += 1;
  const usync = childNamed(query, 'usync');
  const protocols = childrenOf(childNamed(usync, 'query')).map(({ tag }) => tag);
  const users = childrenNamed(childNamed(usync, 'list'), 'user');
  const list = users.map((user) => answerUser(server, user, protocols));
  const result = protocols.map((tag) => node(tag));
  const answer = node('usync', usync?.attrs ?? {}, [node('result', {}, result), node('list', {}, list)]);
  session.reply(query, [answer]);
}

function answerUser(server: Server, user: BinaryNode, protocols: readonly string[]): BinaryNode {
  const asked = whomAsked(server, user);
  if (!asked) return node('user', { jid: user.attrs.jid }, protocols.map(badRequest));
  const exists = server.network.directory.exists(asked.number);
  const answers = protocols.flatMap((protocol) => answerProtocol(server, protocol, asked, exists) ?? []);
  return node('user', { jid: asked.jid }, answers);
}

const badRequest = (tag: string) => node(tag, {}, [node('error', { code: '400', text: 'bad-request' })]);

function whomAsked({ network: { directory } }: Server, user: BinaryNode): Asked | undefined {
  const typed = textOf(childNamed(user, 'contact'));
  if (typed) {
    const number = directory.canonical(typed.replace(/\D/g, ''));
    return { number, jid: directory.jidOf(number, 'pn'), addressing: 'pn', typed };
  }
  const address = directory.resolve(user.attrs.jid ?? childNamed(user, 'lid')?.attrs.jid);
  if (!address) return undefined;
  const { number, addressing } = address;
  return { number, addressing, jid: directory.jidOf(number, addressing), typed: undefined };
}

function answerProtocol(server: Server, protocol: string, asked: Asked, exists: boolean): BinaryNode | undefined {
  const { directory, accounts, phones, now } = server.network;
  switch (protocol) {
    case 'contact':
      return node('contact', { type: exists ? 'in' : 'out' }, asked.typed);
    case 'devices':
      if (!exists) return node('devices', {}, [node('device-list', {}, [])]);
      return devicesNode(accounts.find(asked.number), () => phones.keyring.keysOf(asked.number), now());
    case 'lid':
      return exists ? node('lid', { val: directory.jidOf(asked.number, 'lid') }) : undefined;
    case 'status':
      return exists ? node('status', { t: stamp(now()) }, statusOf(server, asked.number)) : undefined;
    case 'disappearing_mode':
      return node('disappearing_mode', { duration: '0', t: '0' });
    case 'picture':
      return exists ? node('picture', { id: '1' }) : undefined;
    default:
      return undefined;
  }
}

function statusOf({ network }: Server, number: string): Buffer {
  return Buffer.from(network.accounts.find(number)?.status ?? 'Hey there!');
}
