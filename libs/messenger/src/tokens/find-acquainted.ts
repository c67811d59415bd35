import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { type BaileysSocket, jidDecode, jidEncode } from '../socket/baileys.js';

/** Privacy tokens of a contact as the library stores them: theirs for us, and when we gave them ours. */
interface TrustToken {
  token?: Uint8Array;
  senderTimestamp?: number;
}

/** A Signal session as the library stores it. */
interface StoredSession {
  _sessions?: Record<string, { pendingPreKey?: object }>;
}

/**
 * Which of these numbers the account has a conversation with, by its keys; the network is not asked.
 * A contact is known by a privacy token, of which the library issues one after each first message, or by a session that
 * the other side has answered in. (A session alone says nothing: looking a number up makes one.)
 * Safe to repeat. Numbers are digits, as they were asked for.
 */
export async function findAcquainted(sock: BaileysSocket, numbers: readonly string[]): Promise<Set<string>> {
  const ownNumber = jidDecode(sock.user?.id)?.user;
  const people = numbers.flatMap((number) => spellingsOf(number).map((user) => ({ number, user })));
  const { keys } = sock.authState;
  const lids = (await keys.get(
    'lid-mapping',
    people.map(({ user }) => user),
  )) as Record<string, string>;
  const addressed = people.map(({ number, user }) => {
    const jid = lids[user] ? jidEncode(lids[user], 'lid') : jidEncode(user, 's.whatsapp.net');
    return { number, user, jid, address: sock.signalRepository.jidToSignalProtocolAddress(jid) };
  });
  const [tokens, sessions] = await Promise.all([
    keys.get(
      'tctoken',
      addressed.map(({ jid }) => jid),
    ) as Promise<Record<string, TrustToken>>,
    keys.get(
      'session',
      addressed.map(({ address }) => address),
    ) as Promise<Record<string, unknown>> as Promise<Record<string, StoredSession>>,
  ]);
  const acquainted = addressed.filter(
    ({ user, jid, address }) => user === ownNumber || isTrusted(tokens[jid]) || wasAnswered(sessions[address]),
  );
  return new Set(acquainted.map(({ number }) => number));
}

function isTrusted(entry: TrustToken | undefined): boolean {
  return entry !== undefined && ((entry.token?.length ?? 0) > 0 || entry.senderTimestamp !== undefined);
}

function wasAnswered(session: StoredSession | undefined): boolean {
  return Object.values(session?._sessions ?? {}).some(({ pendingPreKey }) => !pendingPreKey);
}
