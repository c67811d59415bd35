import { encodeKey, encodeSession } from './key-codec.js';

/** Of one contact's device, as stored. An honest session has 2 kB; 2,000 keys of messages that never came are 107 kB. */
const MOST_BYTES = 512 * 1024;

/** As libsignal writes it: chains by their ratchet key, in the order in which they began. */
interface StoredSession {
  indexInfo?: { closed?: number };
  currentRatchet?: { lastRemoteEphemeralKey?: string; ephemeralKeyPair?: { pubKey?: string } };
  _chains?: Record<string, object>;
}
interface StoredRecord {
  _sessions?: Record<string, StoredSession>;
}

const OPEN = -1;

/**
 * A value of the key store with its stored form. The network puts no bound to what the other side of a session can make us
 * keep: a record that has grown too large loses sessions that were closed, then chains of the open one, the oldest
 * first; never those in use. When that is not enough, or for a group's key, it is `null`, to be forgotten: what the other
 * side writes next is asked for again, and makes a new one.
 */
export function encodeBounded<Value extends object | string>(
  type: string,
  value: Value,
): { value: Value; bytes: Buffer } | { value: null; bytes: null } {
  const bytes = type === 'session' ? encodeSession(value) : encodeKey(value);
  if (bytes.length <= MOST_BYTES || (type !== 'session' && type !== 'sender-key')) return { value, bytes };
  const excess = bytes.length - MOST_BYTES;
  const smaller = type === 'session' ? dropOldest(value as StoredRecord, excess) : undefined;
  return smaller ? { value: smaller as Value, bytes: encodeSession(smaller) } : { value: null, bytes: null };
}

/** `undefined` when it cannot be made smaller by so many bytes. Does not change the record. */
function dropOldest(record: StoredRecord, excess: number): StoredRecord | undefined {
  const sessions = { ...record._sessions };
  let left = excess;
  const closed = Object.entries(sessions).filter(([, session]) => closedAt(session) !== OPEN);
  for (const [key, session] of closed.sort(([, a], [, b]) => closedAt(a) - closedAt(b))) {
    if (left <= 0) break;
    left -= sizeOf(session);
    delete sessions[key];
  }
  for (const [key, session] of Object.entries(sessions)) {
    if (left <= 0 || closedAt(session) !== OPEN) continue;
    const chains = { ...session._chains };
    for (const chain of oldChains(session)) {
      if (left <= 0) break;
      left -= sizeOf(chains[chain]!);
      delete chains[chain];
    }
    sessions[key] = { ...session, _chains: chains };
  }
  return left <= 0 ? { ...record, _sessions: sessions } : undefined;
}

function oldChains({ currentRatchet, _chains = {} }: StoredSession): string[] {
  const inUse = [currentRatchet?.lastRemoteEphemeralKey, currentRatchet?.ephemeralKeyPair?.pubKey];
  return Object.keys(_chains).filter((key) => !inUse.includes(key));
}

function closedAt({ indexInfo }: StoredSession): number {
  return indexInfo?.closed ?? OPEN;
}

function sizeOf(part: object): number {
  return encodeSession(part).length;
}
