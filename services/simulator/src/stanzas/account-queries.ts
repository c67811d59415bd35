import type { Account } from '../accounts/account.js';
import { announceGroupPicture } from '../announcements/announce-group.js';
import { announceToken } from '../messaging/privacy-tokens.js';
import { type BinaryNode, childBytes, childNamed, childrenNamed, node, textOf } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

const PRIVACY_DEFAULTS: Record<string, string> = {
  readreceipts: 'all',
  profile: 'all',
  status: 'all',
  online: 'all',
  last: 'all',
  groupadd: 'all',
  calladd: 'all',
  messages: 'all',
};

const accountOf = (server: Server, { device }: Client): Account => server.network.accounts.ensure(device.number);

/** Privacy settings, and the tokens that let people who know each other write freely. */
export function answerPrivacy(server: Server, client: Client, query: BinaryNode): void {
  const account = accountOf(server, client);
  const tokens = childNamed(query, 'tokens');
  if (tokens) return issueTokens(server, client, query, tokens);
  for (const { attrs } of childrenNamed(childNamed(query, 'privacy'), 'category')) {
    if (attrs.name && attrs.value) account.privacy.set(attrs.name, attrs.value);
  }
  const values = { ...PRIVACY_DEFAULTS, ...Object.fromEntries(account.privacy) };
  const categories = Object.entries(values).map(([name, value]) => node('category', { name, value }));
  client.session.reply(query, [node('privacy', {}, categories)]);
}

/** Passes a token on to the linked clients of the person it is for. A simulated phone just keeps knowing its caller. */
function issueTokens(server: Server, client: Client, query: BinaryNode, tokens: BinaryNode): void {
  const { directory, accounts, counters } = server.network;
  for (const { attrs } of childrenNamed(tokens, 'token')) {
    counters.privacyTokens += 1;
    const person = directory.resolve(attrs.jid);
    const atSeconds = Number(attrs.t);
    if (!person || !accounts.find(person.number)?.isLinked || !Number.isSafeInteger(atSeconds)) continue;
    announceToken(server.network, { giver: client.device.number, holder: person.number }, atSeconds);
  }
  client.session.reply(query);
}

export function answerBlocklist(server: Server, client: Client, query: BinaryNode): void {
  const { blocked } = accountOf(server, client);
  for (const { attrs } of childrenNamed(query, 'item')) {
    if (attrs.action === 'block') blocked.add(attrs.jid ?? '');
    else blocked.delete(attrs.jid ?? '');
  }
  const items = [...blocked].map((jid) => node('item', { jid }));
  client.session.reply(query, [node('list', { dhash: String(blocked.size) }, items)]);
}

/** The "about" text of one's own account. */
export function answerStatus(server: Server, client: Client, query: BinaryNode): void {
  const text = textOf(childNamed(query, 'status'));
  if (text !== undefined) accountOf(server, client).status = text;
  client.session.reply(query);
}

function setPicture(server: Server, client: Client, query: BinaryNode): void {
  if (query.attrs.target) return setGroupPicture(server, client, query);
  const picture = childBytes(query, 'picture');
  server.network.accounts.ensure(client.device.number).picture = picture;
  server.network.phones.setHabits(client.device.number, { picture: picture !== undefined });
  client.session.reply(query, picture && [node('picture', { id: '1' })]);
}

function setGroupPicture(server: Server, client: Client, query: BinaryNode): void {
  const { number } = client.device;
  const group = server.network.groups.find(query.attrs.target);
  const allowed = group?.switches.has('locked') ? group.isAdmin(number) : group?.members.has(number);
  if (!group || !allowed) return client.session.replyError(query, 403, 'forbidden');
  group.picture = childBytes(query, 'picture');
  client.session.reply(query, group.picture && [node('picture', { id: '1' })]);
  announceGroupPicture(server.network, group, number);
}

export function answerPicture(server: Server, client: Client, query: BinaryNode): void {
  const { directory, groups, phones } = server.network;
  const target = query.attrs.target;
  const person = target ? directory.resolve(target) : { number: client.device.number };
  if (query.attrs.type === 'set') {
    return setPicture(server, client, query);
  }
  const group = groups.find(target);
  if (group?.picture) return replyPicture(server, client, query, group.id);
  if (!person || !directory.exists(person.number)) return client.session.replyError(query, 404, 'item-not-found');
  if (!phones.habitsOf(person.number).picture) return client.session.replyError(query, 401, 'not-authorized');
  replyPicture(server, client, query, person.number);
}

function replyPicture(server: Server, client: Client, query: BinaryNode, name: string): void {
  const url = `${server.network.settings.pictureUrl}/${name}.png`;
  const type = childNamed(query, 'picture')?.attrs.type ?? 'preview';
  client.session.reply(query, [node('picture', { id: '1', type, url, direct_path: `/pictures/${name}.png` })]);
}

export function answerBusinessProfile(server: Server, client: Client, query: BinaryNode): void {
  const { directory, accounts } = server.network;
  const jid = childNamed(childNamed(query, 'business_profile'), 'profile')?.attrs.jid;
  const number = directory.resolve(jid)?.number;
  const account = number ? accounts.find(number) : undefined;
  const profile = account?.business
    ? [node('profile', { jid }, [node('description', {}, Buffer.from(account.pushName))])]
    : [];
  client.session.reply(query, [node('business_profile', { v: '244' }, profile)]);
}
