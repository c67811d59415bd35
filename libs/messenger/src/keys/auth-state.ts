import { FencedError, toError } from '@gateway/runtime/errors';
import { isLinked } from '../linking/linked-account.js';
import { ABSENT, type SessionCaches } from '../lookup/session-caches.js';
import { KeysUnreadableError } from '../session/session-errors.js';
import {
  type AuthenticationCreds,
  type AuthenticationState,
  BufferJSON,
  initAuthCreds,
  type SignalDataSet,
  type SignalDataTypeMap,
} from '../socket/baileys.js';
import { isTokenValid, nowSeconds } from '../tokens/token-buckets.js';
import { encodeBounded } from './bound-session.js';
import { decodeKey } from './key-codec.js';
import type { KeyChanges, KeyStorePort } from './key-store-port.js';
import { KeyWriter } from './key-writer.js';
import { waitForWrite } from './store-later.js';

type KeyType = keyof SignalDataTypeMap;

export interface AuthStateDeps {
  keyStore: KeyStorePort;
  caches: SessionCaches;
  /** The session must end: keys could not be read (`KeysUnreadableError`), or not written (`FencedError`, others). Called once or more. */
  onFailure(error: Error): void;
}

/** The library's view of the key store, and our additions. */
export interface AuthState extends AuthenticationState {
  /** Writes the credentials as they are now; nothing before the device is linked. Resolves when they are stored. */
  saveCreds(): Promise<void>;
  /** Resolves when every write is stored; rejects when one failed. Later ones are refused. */
  drain(): Promise<void>;
}

/** The credentials of the linked device, `undefined` when there is none. Throws `KeysUnreadableError`. */
export async function readLinkedCreds(keyStore: KeyStorePort): Promise<AuthenticationCreds | undefined> {
  try {
    const text = await keyStore.readCreds();
    return text !== undefined && isLinked(text) ? JSON.parse(text, BufferJSON.reviver) : undefined;
  } catch (thrown) {
    if (thrown instanceof FencedError) throw thrown;
    throw new KeysUnreadableError('creds', thrown);
  }
}

/**
 * The library swallows errors of its key store: an unreadable session counts as absent, and the message goes out
 * without that device. So an error is reported here, beside the library, and the session lets no stanza pass after it.
 *
 * @param linked credentials of the linked device; without them fresh ones for linking.
 */
export function openAuthState(linked: AuthenticationCreds | undefined, deps: AuthStateDeps): AuthState {
  const { caches, onFailure } = deps;
  const creds = linked ?? initAuthCreds();
  const writer = new KeyWriter({
    keyStore: deps.keyStore,
    onFailure(error) {
      // The cache already has what the store refused.
      caches.keys.clear();
      onFailure(error);
    },
  });
  const saveCreds = async () => {
    if (creds.account) await writer.write({ creds: JSON.stringify(creds, BufferJSON.replacer) });
  };
  return { creds, keys: cachedKeys(deps, writer), saveCreds, drain: () => writer.drain() };
}

/** Made by the hundred and used once each: they would only push others out. */
const UNCACHED: ReadonlySet<KeyType> = new Set(['pre-key']);
const ABSENT_BYTES = 64;
const NOTHING = { value: null, bytes: null } as const;

function cachedKeys({ keyStore, caches, onFailure }: AuthStateDeps, writer: KeyWriter): AuthenticationState['keys'] {
  const remember = (type: KeyType, id: string, value: object | string | undefined, bytes: number) => {
    if (!UNCACHED.has(type)) caches.keys.set(`${type}/${id}`, value ?? ABSENT, { size: bytes + ABSENT_BYTES });
  };

  function showAsIssued(found: Record<string, SignalDataTypeMap['tctoken']>, ids: string[]): void {
    for (const id of ids) {
      if (!caches.tokensToIssue.has(id)) continue;
      const { token, timestamp } = found[id] ?? {};
      // One that is too old the library would clear, and write this time of issue with it, before there is one.
      const shown = token && isTokenValid(Number(timestamp ?? 0)) ? token : Buffer.alloc(0);
      found[id] = Object.assign({}, found[id], { token: shown, senderTimestamp: nowSeconds() });
    }
  }

  async function fetch(type: KeyType, ids: string[]): Promise<Map<string, object | string>> {
    try {
      const stored = await keyStore.read(type, ids);
      const values = new Map<string, object | string>();
      for (const id of ids) {
        const bytes = stored.get(id);
        const value = bytes && decodeKey(type, bytes);
        if (value !== undefined) values.set(id, value);
        remember(type, id, value, bytes?.length ?? 0);
      }
      return values;
    } catch (thrown) {
      const error = new KeysUnreadableError(type, toError(thrown));
      onFailure(error);
      throw error;
    }
  }

  return {
    async get<Type extends KeyType>(type: Type, ids: string[]) {
      const found: { [id: string]: SignalDataTypeMap[Type] } = {};
      const missing: string[] = [];
      for (const id of ids) {
        if (isContactIndex(type, id)) continue;
        const value = caches.keys.get(`${type}/${id}`);
        if (value === undefined) missing.push(id);
        else if (value !== ABSENT) found[id] = value as SignalDataTypeMap[Type];
      }
      if (missing.length > 0) {
        for (const [id, value] of await fetch(type, missing)) found[id] = value as SignalDataTypeMap[Type];
      }
      if (type === 'tctoken') showAsIssued(found as Record<string, SignalDataTypeMap['tctoken']>, ids);
      return found;
    },

    async set(data) {
      // Before the cache has it: sessions to come share that.
      if (writer.refusal) throw writer.refusal;
      const changes: Required<Pick<KeyChanges, 'keys' | 'contacts'>> = { keys: [], contacts: [] };
      for (const [type, id, given] of entriesOf(data)) {
        if (isContactIndex(type, id)) {
          changes.contacts.push(...readContacts(given).filter((jid) => !caches.forgotten.has(userOf(jid))));
          continue;
        }
        // There is news of them.
        if (type === 'tctoken' && given !== null) caches.forgotten.delete(userOf(id));
        const { value, bytes } = given === null ? NOTHING : encodeBounded(type, given);
        changes.keys.push({ type, id, value: bytes });
        remember(type, id, value ?? undefined, bytes?.length ?? 0);
      }
      if (changes.keys.length + changes.contacts.length > 0) await waitForWrite(writer, changes);
    },
  };
}

/**
 * The library keeps one list of all contacts with a privacy token and rewrites it at each new one, 37 ms at 100,000.
 * It merges what it reads with new entries: given an empty list, it writes only new ones, which the store adds to a set.
 * (Only its pruning needs the whole list, and that runs for clients that appear online.)
 */
function isContactIndex(type: KeyType, id: string): boolean {
  return type === 'tctoken' && id === '__index';
}

function userOf(jid: string): string {
  return /^\d+/.exec(jid)?.[0] ?? jid;
}

function readContacts(index: object | string | null): string[] {
  const token = (index as SignalDataTypeMap['tctoken'] | null)?.token;
  return token ? (JSON.parse(Buffer.from(token).toString()) as string[]) : [];
}

function* entriesOf(data: SignalDataSet): Generator<[KeyType, string, object | string | null]> {
  for (const [type, values] of Object.entries(data)) {
    for (const [id, value] of Object.entries(values ?? {})) yield [type as KeyType, id, value];
  }
}
