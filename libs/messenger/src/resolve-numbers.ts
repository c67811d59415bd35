import { askByJid, askByNumber } from './ask-users.js';
import { type BaileysSocket, jidDecode, jidEncode, jidNormalizedUser } from './baileys.js';
import type { UserAnswer, UserDevice } from './read-users.js';
import { NetworkRefusalError } from './session-errors.js';

/** An account and where its messages go. */
export interface Account {
  /** Without a device. */
  jid: string;
  lid: string | undefined;
  devices: UserDevice[];
}

export type Resolved = { account: Account } | { exists: false } | { error: number };

const NO_DEVICES = 404;

/**
 * Which account is behind each number. Normally one query; what it leaves open is asked again by jid, the way the
 * library asks before a message: not every server answers for devices when it is asked by number.
 */
export async function resolveNumbers(sock: BaileysSocket, numbers: readonly string[]): Promise<Map<string, Resolved>> {
  const answers = assign(numbers, await askByNumber(sock, numbers));
  const open = numbers.filter((number) => isOpen(answers.get(number)));
  if (open.length > 0) {
    const jids = new Map(
      open.map((number) => [number, answers.get(number)?.jid ?? jidEncode(number, 's.whatsapp.net')]),
    );
    const more = new Map((await askByJid(sock, [...jids.values()])).map((user) => [user.jid, user]));
    for (const [number, jid] of jids) answers.set(number, merge(answers.get(number), more.get(jid)));
  }
  return new Map(numbers.map((number) => [number, conclude(number, answers.get(number))]));
}

/** The account behind a jid. Throws `NetworkRefusalError` when the network will not tell. */
export async function resolveAccount(sock: BaileysSocket, jid: string): Promise<Account> {
  const [user] = await askByJid(sock, [jid]);
  if (user?.error !== undefined) throw new NetworkRefusalError(user.error);
  return { jid, lid: user?.lid, devices: user?.devices ?? [] };
}

function assign(numbers: readonly string[], users: UserAnswer[]): Map<string, UserAnswer | undefined> {
  const asked = new Set(numbers);
  const answers = new Map<string, UserAnswer | undefined>();
  for (const user of users) {
    const number = [user.asked, user.jid && jidDecode(user.jid)?.user].find((name) => name && asked.has(name));
    if (number) answers.set(number, user);
  }
  return answers;
}

function isOpen(user: UserAnswer | undefined): boolean {
  if (!user) return true;
  return user.error === undefined && user.isContact !== false && user.devices === undefined;
}

function merge(first: UserAnswer | undefined, second: UserAnswer | undefined): UserAnswer | undefined {
  if (!first || !second) return first ?? second;
  return { ...first, lid: first.lid ?? second.lid, devices: second.devices, error: second.error };
}

function conclude(number: string, user: UserAnswer | undefined): Resolved {
  if (user?.error !== undefined) return { error: user.error };
  if (!user || user.isContact === false) return { exists: false };
  const { devices = [], lid } = user;
  if (devices.length === 0) return user.isContact ? { error: NO_DEVICES } : { exists: false };
  return { account: { jid: jidNormalizedUser(user.jid ?? jidEncode(number, 's.whatsapp.net')), lid, devices } };
}
