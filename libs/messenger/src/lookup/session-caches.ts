import { LRUCache } from 'lru-cache';
import type { OptionalQuery } from '../session/optional-queries.js';
import type { CacheStore, FullJid } from '../socket/baileys.js';
import type { UserDevice } from './read-users.js';

/** Result of the lookup of a number. */
export type Contact = { exists: false } | { exists: true /** By number. */; jid: string; lid: string | undefined };

/**
 * The caches of one account's sessions, in bounded memory.
 * It outlives a connection but not an ownership: while another process owned the device, all of it may have changed.
 */
export interface SessionCaches {
  /** Keys by `type/id`, as the library's own objects. `ABSENT` for those that the store does not have. */
  keys: LRUCache<string, object | string>;
  /** Devices by the user part of a jid, of the number and of the hidden identifier: all that a message to it goes to. */
  devices: LRUCache<string, FullJid[]>;
  /** All devices of our own account, by its jid, as the network named them last: for when it names none. */
  ownDevices: Map<string, UserDevice[]>;
  /** The user parts of jids that are known to have no LID. */
  withoutLid: LRUCache<string, true>;
  /** People whose hidden identifier was looked up again by number; not repeated too often. */
  refreshedLids: LRUCache<string, true>;
  /** By jid: the week, counted from 1970, in which the contact was last issued a privacy token. */
  issuedTokens: LRUCache<string, number>;
  /** Keys of contacts whom we, and not the library, are about to issue a privacy token: see privacy-tokens.ts. */
  tokensToIssue: Set<string>;
  /**
   * The names (users of jids) of people that were forgotten: the library remembers whom it has a token of for as long as
   * its socket lives, and writes all of them down again and again.
   */
  forgotten: Set<string>;
  /** By number as it was asked for, digits. */
  contacts: LRUCache<string, Contact>;
  /** Numbers and jids that the network refused to say anything about, with its code: asked alone, or they fail a batch. */
  refused: LRUCache<string, number>;
  /** The number that each message of late was sent to, by its platform id: its receipts come soon, and need no look into Redis. */
  sentTo: LRUCache<string, string>;
  /** When the network last answered each optional query, in ms of the process: it does not end connections over those. */
  answeredQueries: Map<OptionalQuery, number>;
  /** How often a phone asked for a message again: bounded over reconnects, or a broken phone could ask for ever. */
  retries: LRUCache<string, object>;
}

export const ABSENT: object = Object.freeze({ absent: true });

const MINUTE_MS = 60_000;
const SENT_TTL_MS = 5 * MINUTE_MS;
const DEVICES_TTL_MS = 60 * MINUTE_MS;
const CONTACT_TTL_MS = 60 * MINUTE_MS;
/** A device without keys may have been removed, or may have them later. */
export const PARTIAL_TTL_MS = MINUTE_MS;
/** People join. */
export const STRANGER_TTL_MS = 5 * MINUTE_MS;

/** Until then it is asked alone: longer than the wait between two attempts of a list. */
const REFUSED_TTL_MS = 10 * MINUTE_MS;

const ofOne = () => 1;
/** For lifetimes of minutes. By default a cache makes a timer in each ms in which it is used, to ask for the time once in it. */
const ttlResolution = 1_000;

/**
 * How each is made. Bounds by size, because a bound by count sets its whole memory aside at once: too much for thousands of
 * idle devices.
 */
const MAKE: { [Name in keyof SessionCaches]: (options: CacheOptions) => SessionCaches[Name] } = {
  keys: ({ maxKeyBytes }) => new LRUCache({ maxSize: maxKeyBytes }),
  devices: () =>
    new LRUCache({
      maxSize: 40_000,
      sizeCalculation: (devices) => devices.length + 1,
      ttl: DEVICES_TTL_MS,
      ttlResolution,
    }),
  ownDevices: () => new Map(),
  withoutLid: () => new LRUCache({ maxSize: 20_000, sizeCalculation: ofOne, ttl: DEVICES_TTL_MS, ttlResolution }),
  refreshedLids: () => new LRUCache({ maxSize: 5_000, sizeCalculation: ofOne, ttl: 60 * MINUTE_MS, ttlResolution }),
  issuedTokens: () => new LRUCache({ maxSize: 20_000, sizeCalculation: ofOne }),
  tokensToIssue: () => new Set(),
  forgotten: () => new Set(),
  contacts: () => new LRUCache({ maxSize: 20_000, sizeCalculation: ofOne, ttl: CONTACT_TTL_MS, ttlResolution }),
  refused: () => new LRUCache({ maxSize: 5_000, sizeCalculation: ofOne, ttl: REFUSED_TTL_MS, ttlResolution }),
  sentTo: () => new LRUCache({ maxSize: 5_000, sizeCalculation: ofOne, ttl: SENT_TTL_MS, ttlResolution }),
  answeredQueries: () => new Map(),
  retries: () => new LRUCache({ maxSize: 5_000, sizeCalculation: ofOne, ttl: 60 * MINUTE_MS, ttlResolution }),
};

interface CacheOptions {
  maxKeyBytes: number;
}

/** Each is made when it is first asked for: together they take 16 kB while they are empty, and most devices are idle. */
class CachesWhenNeeded {
  constructor(readonly options: CacheOptions) {}
}
for (const [name, make] of Object.entries(MAKE)) {
  Object.defineProperty(CachesWhenNeeded.prototype, name, {
    get(this: CachesWhenNeeded) {
      const value = make(this.options);
      Object.defineProperty(this, name, { value });
      return value;
    },
  });
}

/** @param maxKeyBytes bound of the key cache, in bytes of the stored form. */
export function createSessionCaches({ maxKeyBytes = 4 * 1024 * 1024 } = {}): SessionCaches {
  return new CachesWhenNeeded({ maxKeyBytes }) as unknown as SessionCaches;
}

/** The cache of retries in the form that the library takes. */
export function retryCache(caches: Pick<SessionCaches, 'retries'>): CacheStore {
  return {
    get: <Value>(key: string) => (caches.retries.get(key) as { value: Value } | undefined)?.value,
    set: <Value>(key: string, value: Value) => void caches.retries.set(key, { value }),
    del: (key) => void caches.retries.delete(key),
    flushAll: () => caches.retries.clear(),
  };
}

/**
 * Deletes what is in memory about a person.
 * @param names users: their numbers and hidden identifiers.
 */
export function forgetCached(caches: SessionCaches, names: ReadonlySet<string>): void {
  const isTheirs = (key: string) => key.match(/\d+/g)?.some((digits) => names.has(digits)) ?? false;
  const { keys, devices, withoutLid, refreshedLids, issuedTokens, contacts, refused } = caches;
  for (const cache of [keys, devices, withoutLid, refreshedLids, issuedTokens, contacts, refused]) {
    for (const key of [...cache.keys()]) if (isTheirs(key)) cache.delete(key);
  }
  for (const [platformId, to] of [...caches.sentTo.entries()]) if (isTheirs(to)) caches.sentTo.delete(platformId);
  for (const key of [...caches.tokensToIssue]) if (isTheirs(key)) caches.tokensToIssue.delete(key);
  for (const name of names) caches.forgotten.add(name);
}
