import { Agent } from 'node:https';
import type { ReadyContent } from '@gateway/contracts/content/message-content';
import type { Logger } from '@gateway/runtime/logs/logger';
import { LRUCache } from 'lru-cache';
import { namespaceOf } from '../addressing/addressing-state.js';
import { authorOfQuote } from '../addressing/author-of-quote.js';
import { findSession } from '../keys/find-session.js';
import type { LinkMethod } from '../linking/link-method.js';
import { retryCache, type SessionCaches } from '../lookup/session-caches.js';
import { toQuotingProto } from '../sending/quote.js';
import type { StanzaTrace } from '../tracing/stanza-trace.js';
import {
  type AuthenticationState,
  Browsers,
  DEFAULT_CONNECTION_CONFIG,
  jidDecode,
  type UserFacingSocketConfig,
} from './baileys.js';
import { adaptLogger } from './log-adapter.js';
import type { Endpoint } from './trust.js';

/** The name of the device on the phone: must be one of the library's, or linking by code is refused. */
export type BrowserName = [os: string, browser: string, version: string];

export const DEFAULT_BROWSER: BrowserName = Browsers.macOS('Chrome');

export interface SocketSettings {
  endpoint: Endpoint;
  auth: AuthenticationState;
  caches: SessionCaches;
  logger: Logger;
  /** Receives what the library sends, while the trace is on. */
  trace?: StanzaTrace;
  browser?: BrowserName;
  link?: LinkMethod;
  /** Version of the web client to appear as; the library's own by default. Nothing is asked over the network. */
  clientVersion?: [number, number, number];
  /** The content of a message that a phone could not decrypt and asks for again. */
  getMessage?: ((platformId: string) => Promise<ReadyContent | undefined>) | undefined;
}

/**
 * None: the session bounds its own opening, and every send. The library would put this one around each frame that it
 * writes, with a timer, an error and two stack traces each time: a tenth of the cost of a message.
 */
const CONNECT_TIMEOUT_MS = 0;
const QUERY_TIMEOUT_MS = 15_000;
/** A dead connection is noticed after at most twice this. */
const KEEP_ALIVE_MS = 20_000;

/** Longer than any typed code and its successors are good for. */
const TYPING_MS = 30 * 60_000;

export function socketSettings(settings: SocketSettings): UserFacingSocketConfig {
  const { endpoint, auth, caches, logger, getMessage, trace } = settings;
  return {
    waWebSocketUrl: endpoint.url,
    auth,
    logger: adaptLogger(logger, trace),
    browser: settings.browser ?? DEFAULT_BROWSER,
    version: settings.clientVersion ?? DEFAULT_CONNECTION_CONFIG.version,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    defaultQueryTimeoutMs: QUERY_TIMEOUT_MS,
    keepAliveIntervalMs: KEEP_ALIVE_MS,
    // The library hangs up when its QR codes have run out. They are not shown while a person types a code.
    ...(settings.link?.method === 'pairing' && { qrTimeout: TYPING_MS }),
    // The certificate chain inside the handshake tells a simulator from an impostor; its TLS is self-signed, also where it
    // takes uploads: those are sealed, and phones check what they get. The real network has to show good certificates.
    ...agentsFor(endpoint),
    syncFullHistory: false,
    markOnlineOnConnect: false,
    emitOwnEvents: false,
    // The library inflates or downloads without a bound what it wants of histories. What we want is taken out before (see
    // history/history-keeper.ts). That it wants none makes it write a warning, at debug, and no difference else.
    shouldSyncHistoryMessage: () => false,
    // A commit is not repeated: by then the session has ended (see KeyWriter).
    transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 0 },
    userDevicesCache: devicesCache(caches),
    // A pause after each message that cannot be read would hold up those behind it.
    retryRequestDelayMs: 0,
    placeholderResendCache: asIfAskedFor,
    callOfferCache: nothing,
    msgRetryCounterCache: retryCache(caches),
    makeSignalRepository: signalRepository(caches),
    async getMessage({ id }) {
      const content = id ? await getMessage?.(id) : undefined;
      if (!content) return undefined;
      const book = { own: auth.creds.me, keys: auth.keys };
      return toQuotingProto(content, await authorOfQuote(book, content, namespaceOf(auth.creds)));
    },
  };
}

/**
 * The library asks the account's phone for each message that it cannot read; the answers would come past us. Its writer's
 * phone is asked anyway, by a retry receipt.
 */
const asIfAskedFor: NonNullable<UserFacingSocketConfig['placeholderResendCache']> = {
  get: <Value>() => true as Value,
  set: () => {},
  del: () => {},
  flushAll: () => {},
};

/** Calls are confirmed, and not read (see ../inbound/confirm-unread.ts). The library's own cache would be 6 kB a socket. */
const nothing: NonNullable<UserFacingSocketConfig['callOfferCache']> = {
  get: () => undefined,
  set: () => {},
  del: () => {},
  flushAll: () => {},
};

function agentsFor(endpoint: Endpoint) {
  const agent = standInAgent(endpoint);
  if (!agent) return {};
  return isTls(endpoint.url) ? { agent, fetchAgent: agent } : { fetchAgent: agent };
}

/** For TLS connections to a simulator and its files; `undefined` for the real network. */
export function standInAgent({ trust }: Endpoint): Agent | undefined {
  return trust.kind === 'production' ? undefined : new Agent({ rejectUnauthorized: false });
}

function isTls(url: string): boolean {
  return new URL(url).protocol === 'wss:';
}

function devicesCache({ devices }: SessionCaches): NonNullable<UserFacingSocketConfig['userDevicesCache']> {
  return {
    get: <Value>(user: string) => devices.get(user) as Value | undefined,
    set: <Value>(user: string, list: Value) => void devices.set(user, list as never),
    del: (user) => void devices.delete(user),
    flushAll: () => devices.clear(),
  };
}

const MAX_LID_MAPPINGS = 20_000;

/**
 * The library's sessions and LID mappings, with four habits less: for an account without a LID it asks the network at
 * every step of a message, where once is enough; it remembers every mapping it ever saw, with a timer for each; it
 * keeps the keys of groups, which any message of a contact may bring, of groups that never were, too (none is read here);
 * and before it encrypts a message it decodes each session twice, once only to see that it is there.
 */
function signalRepository({ withoutLid }: SessionCaches): NonNullable<UserFacingSocketConfig['makeSignalRepository']> {
  return (auth, logger, askForLids) => {
    const repository = DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, async (jids) => {
      const unknown = jids.filter((jid) => !withoutLid.has(jidDecode(jid)?.user ?? ''));
      return unknown.length > 0 ? await askForLids?.(unknown) : [];
    });
    const mappingCache = new LRUCache<string, string>({ maxSize: MAX_LID_MAPPINGS, sizeCalculation: () => 1 });
    Object.assign(repository.lidMapping, { mappingCache });
    repository.processSenderKeyDistributionMessage = async () => {};
    repository.validateSession = (jid) => findSession(repository, auth.keys, jid);
    return repository;
  };
}
