import { OptionalQueries } from '../session/optional-queries.js';
import { NetworkRefusalError } from '../session/session-errors.js';
import { type BaileysSocket, jidDecode, jidEncode, jidNormalizedUser } from '../socket/baileys.js';
import { askInParts, type RefusedBefore } from './ask-in-parts.js';
import { askByJid, askByNumber } from './ask-users.js';
import type { UserAnswer, UserDevice } from './read-users.js';

/** An account and where its messages go. */
export interface Account {
  /** Without a device. */
  jid: string;
  lid: string | undefined;
  devices: UserDevice[];
  /** The network named no device: the next query may. */
  isGuess?: true;
}

export type Resolved = { account: Account } | { exists: false } | { error: number };

interface ResolveOptions {
  optional?: OptionalQueries | undefined;
  before?: RefusedBefore<string>;
}

const NO_DEVICES = 404;
const PHONE: UserDevice = { id: 0, isHosted: false };

/** Results of a lookup so far. */
interface Findings {
  answers: Map<string, UserAnswer | undefined>;
  /** By number: the code by which the network refused the last question about it. */
  refused: Map<string, number>;
  /** Numbers and jids refused before, in this lookup or another. */
  before: RefusedBefore<string>;
}

/**
 * Which account is behind each number. Where one query leaves devices open, or names none, they are asked for by hidden
 * identifier, or by jid where there is none: by number the network of 2026 does not tell the devices of others.
 */
export async function resolveNumbers(
  sock: BaileysSocket,
  numbers: readonly string[],
  { optional = new OptionalQueries(), before = new Map() }: ResolveOptions = {},
): Promise<Map<string, Resolved>> {
  const isByNumber = optional.mayAsk('lookUpByNumber');
  const byNumber = async (part: readonly string[]) =>
    isByNumber ? optional.ask('lookUpByNumber', () => askByNumber(sock, part)) : [];
  const { answers: users, refused } = await askInParts(numbers, byNumber, before);
  const findings: Findings = { answers: assign(numbers, users), refused, before };
  const asked = new Set<string>();
  // Twice, as a hidden identifier may come with an answer that was asked for by jid.
  for (let round = 0; round < 2; round += 1) await askForDevices(sock, findings, asked);
  const concludeOne = (number: string) =>
    conclude(number, findings.answers.get(number) ?? { isUnknown: isByNumber }, refused.get(number));
  return new Map(numbers.map((number) => [number, concludeOne(number)]));
}

async function askForDevices(
  sock: BaileysSocket,
  { answers, refused, before }: Findings,
  asked: Set<string>,
): Promise<void> {
  const open = [...answers].filter(([, user]) => isOpen(user)).map(([number, user]) => [number, nameOf(number, user)]);
  const names = new Map((open as [string, string][]).filter(([, name]) => !asked.has(name)));
  if (names.size === 0) return;
  for (const name of names.values()) asked.add(name);
  const more = await askInParts([...new Set(names.values())], (part) => askByJid(sock, part), before);
  // Asked for by number, an account may be answered under its hidden identifier.
  const users = new Map(more.answers.flatMap((user) => [user.lid, user.jid, user.name].map((name) => [name, user])));
  for (const [number, name] of names) {
    answers.set(number, merge(answers.get(number), users.get(name)));
    const code = more.refused.get(name);
    if (code !== undefined) refused.set(number, code);
  }
}

/**
 * The account that we are ourselves, by hidden identifier where we have one, else (or if that tells nothing) by number.
 * Throws `NetworkRefusalError` when the network will not tell. It names at least us: an empty list is not believed.
 * @param before the devices that it named last.
 */
export async function resolveOwnAccount(
  sock: BaileysSocket,
  jid: string,
  before: UserDevice[] = [PHONE],
): Promise<Account> {
  const lid = sock.user?.lid && jidNormalizedUser(sock.user.lid);
  const byLid = lid ? await askForOne(sock, lid) : undefined;
  if (lid && byLid?.devices?.length) return { jid, lid, devices: byLid.devices };
  const user = await askForOne(sock, jid);
  if (user?.error !== undefined) throw new NetworkRefusalError(user.error);
  const names = { jid, lid: user?.lid ?? (lid || undefined) };
  return user?.devices?.length ? { ...names, devices: user.devices } : { ...names, devices: before, isGuess: true };
}

async function askForOne(sock: BaileysSocket, jid: string): Promise<UserAnswer | undefined> {
  return (await askByJid(sock, [jid]))[0];
}

function nameOf(number: string, user: UserAnswer | undefined): string {
  return (user?.lid && jidNormalizedUser(user.lid)) || (user?.jid ?? jidEncode(number, 's.whatsapp.net'));
}

function assign(numbers: readonly string[], users: UserAnswer[]): Map<string, UserAnswer | undefined> {
  const asked = new Set(numbers);
  const answers = new Map<string, UserAnswer | undefined>(numbers.map((number) => [number, undefined]));
  for (const user of users) {
    const echoed = user.asked.filter((number) => asked.has(number));
    const named = jidDecode(user.jid)?.user;
    for (const number of echoed.length > 0 ? echoed : [named]) {
      if (number && asked.has(number)) answers.set(number, user);
    }
  }
  return answers;
}

function isOpen(user: UserAnswer | undefined): boolean {
  if (!user) return true;
  return user.error === undefined && user.isContact !== false && !user.devices?.length;
}

function merge(first: UserAnswer | undefined, second: UserAnswer | undefined): UserAnswer | undefined {
  if (!first || !second) return first ?? second;
  const devices = second.devices?.length ? second.devices : first.devices;
  return { ...first, lid: first.lid ?? second.lid, devices, error: second.error };
}

/** @param answer `isUnknown`: there was none, also where the network was asked by number. */
function conclude(number: string, answer: UserAnswer | { isUnknown: boolean }, refused: number | undefined): Resolved {
  if ('isUnknown' in answer) {
    // A refusal does not tell whether the account exists.
    if (refused !== undefined) return { error: refused };
    return answer.isUnknown ? { exists: false } : { error: NO_DEVICES };
  }
  const { error, isContact, devices = [], jid, lid } = answer;
  if (error !== undefined) return { error };
  if (isContact === false) return { exists: false };
  // Every account has a phone: a list without one is not trusted, and does not tell whether the account exists.
  if (devices.length === 0) return { error: refused ?? NO_DEVICES };
  return { account: { jid: jidNormalizedUser(jid ?? jidEncode(number, 's.whatsapp.net')), lid, devices } };
}
