import { devicesNode } from '../accounts/device-list.js';
import { type Addressing, makeJid, parseJid } from '../directory/jids.js';
import { type BinaryNode, childNamed, childrenNamed, childrenOf, node, stamp, textOf } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** Whom a query asks about, as it named them. */
interface Asked {
  readonly number: string;
  /** The names on the answer. */
  readonly names: { readonly jid?: string; readonly pn_jid?: string };
  readonly addressing: Addressing;
  /** The number as the client typed it, for contact look-ups. */
  readonly typed: string | undefined;
}

/** One query: who asks, what for, and whether numbers are to be answered by hidden identifier. */
interface Question {
  readonly asker: string;
  readonly protocols: readonly string[];
  readonly byLid: boolean;
}

/** Contact look-ups: devices, hidden identifiers, status, ... for many people at once, one answer node per person and protocol. */
export function answerUsync(server: Server, { session, device }: Client, query: BinaryNode): void {
  server.network.counters.usyncQueries += 1;
  const usync = childNamed(query, 'usync');
  const question = questionIn(server, device.number, childNamed(usync, 'query'));
  const users = childrenNamed(childNamed(usync, 'list'), 'user');
  const list = users.map((user) => answerUser(server, user, question));
  const result = question.protocols.map((tag) => node(tag));
  const answer = node('usync', usync?.attrs ?? {}, [node('result', {}, result), node('list', {}, list)]);
  session.reply(query, [answer]);
}

function questionIn({ network }: Server, asker: string, query: BinaryNode | undefined): Question {
  const protocols = childrenOf(query).map(({ tag }) => tag);
  const byLid = childNamed(query, 'contact')?.attrs.addressing_mode === 'lid';
  return { asker, protocols, byLid: byLid && network.rules.answersByLid };
}

function answerUser(server: Server, user: BinaryNode, question: Question): BinaryNode {
  const { protocols, byLid } = question;
  const typed = textOf(childNamed(user, 'contact'));
  if (byLid && typed && !isNumber(typed)) return node('user', {}, [node('contact', { type: 'invalid' }, typed)]);
  const asked = typed ? whomTyped(server, typed, byLid) : whomNamed(server, user);
  if (!asked) return node('user', { jid: user.attrs.jid }, protocols.map(badRequest));
  noteLidQuestion(server, asked, question);
  const exists = server.network.directory.exists(asked.number);
  const answers = protocols.flatMap((protocol) => answerProtocol(server, protocol, asked, { exists, question }) ?? []);
  return node('user', asked.names, answers);
}

const badRequest = (tag: string) => node(tag, {}, [node('error', { code: '400', text: 'bad-request' })]);
const isNumber = (typed: string) => /^\+?[1-9]\d{4,14}(@c\.us)?$/.test(typed);

function whomTyped({ network: { directory } }: Server, typed: string, byLid: boolean): Asked {
  const number = directory.canonical(typed.replace(/\D/g, ''));
  const pn = directory.jidOf(number, 'pn');
  if (!byLid) return { number, names: { jid: pn }, addressing: 'pn', typed };
  const lid = directory.exists(number) ? { jid: directory.jidOf(number, 'lid') } : {};
  return { number, names: { ...lid, pn_jid: pn }, addressing: 'lid', typed };
}

function whomNamed({ network: { directory } }: Server, user: BinaryNode): Asked | undefined {
  const named = user.attrs.jid ?? childNamed(user, 'lid')?.attrs.jid;
  const address = directory.resolve(named);
  if (!address) return undefined;
  const { number, addressing } = address;
  // Under the name that was asked for: a person may have had another hidden identifier before.
  const jid = addressing === 'lid' ? makeJid(parseJid(named)!.user, 'lid') : directory.jidOf(number, addressing);
  return { number, addressing, names: { jid }, typed: undefined };
}

/** An account that asks by number for a hidden identifier knows the current one. */
function noteLidQuestion({ network }: Server, { number, addressing, typed }: Asked, question: Question): void {
  const isByNumber = typed !== undefined || addressing === 'pn';
  if (isByNumber && (question.byLid || question.protocols.includes('lid')))
    network.staleLids.inform(question.asker, number);
}

function answerProtocol(
  server: Server,
  protocol: string,
  asked: Asked,
  { exists, question }: { exists: boolean; question: Question },
): BinaryNode | undefined {
  const { directory, now } = server.network;
  switch (protocol) {
    case 'contact':
      return node('contact', { type: exists ? 'in' : 'out' }, asked.typed);
    case 'devices':
      return exists && listsDevices(server, asked) ? devicesOf(server, asked.number) : NO_DEVICES;
    case 'lid':
      return exists ? node('lid', { val: directory.jidOf(asked.number, 'lid') }) : undefined;
    case 'status':
      return exists ? node('status', { t: stamp(now()) }, statusOf(server, asked.number)) : undefined;
    case 'disappearing_mode':
      return question.byLid && !exists ? undefined : node('disappearing_mode', { duration: '0', t: '0' });
    case 'picture':
      return exists ? node('picture', { id: '1' }) : undefined;
    default:
      return undefined;
  }
}

const NO_DEVICES = node('devices', {}, [node('device-list', {}, [])]);

/** Since 2026 devices are listed under hidden identifiers only. */
function listsDevices({ network }: Server, { addressing }: Asked): boolean {
  return !network.rules.answersByLid || addressing === 'lid';
}

function devicesOf({ network: { accounts, phones, now } }: Server, number: string): BinaryNode {
  return devicesNode(accounts.find(number), () => phones.keyring.keysOf(number), now());
}

function statusOf({ network }: Server, number: string): Buffer {
  return Buffer.from(network.accounts.find(number)?.status ?? 'Hey there!');
}
