import { TimeoutError } from '../session/session-errors.js';
import { type BaileysSocket, type BinaryNode, USyncContactProtocol, USyncQuery, USyncUser } from '../socket/baileys.js';
import { readUsers, type UserAnswer } from './read-users.js';

/** The library's part of a query that asks about numbers, with the mode of the official clients of 2026. What is asked beside it is our choice. */
class ContactByNumber extends USyncContactProtocol {
  override getQueryElement(): BinaryNode {
    return { tag: 'contact', attrs: { addressing_mode: 'lid' } };
  }
}

/** Asks which numbers (digits) have an account, and for its devices and LID, in one query. */
export function askByNumber(sock: BaileysSocket, numbers: readonly string[]): Promise<UserAnswer[]> {
  const query = new USyncQuery().withContext('interactive').withDeviceProtocol().withLIDProtocol();
  query.protocols.unshift(new ContactByNumber());
  for (const number of numbers) query.withUser(new USyncUser().withPhone(`+${number}`));
  return ask(sock, query);
}

/** Asks for devices and LIDs of accounts. */
export function askByJid(sock: BaileysSocket, jids: readonly string[]): Promise<UserAnswer[]> {
  const query = new USyncQuery().withContext('message').withDeviceProtocol().withLIDProtocol();
  for (const jid of jids) query.withUser(new USyncUser().withId(jid));
  return ask(sock, query);
}

async function ask(sock: BaileysSocket, query: USyncQuery): Promise<UserAnswer[]> {
  let answer: BinaryNode | undefined;
  query.parseUSyncQueryResult = (node) => {
    answer = node;
    return undefined;
  };
  const startedMs = performance.now();
  await sock.executeUSyncQuery(query);
  // The library resolves with nothing when it has waited long enough.
  if (!answer) throw new TimeoutError('usync', Math.round(performance.now() - startedMs));
  return readUsers(answer);
}
