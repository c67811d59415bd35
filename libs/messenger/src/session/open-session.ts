import type { ReadyContent } from '@gateway/contracts/content/message-content';
import type { Logger } from '@gateway/runtime/logs/logger';
import { toFailureOutcome } from '../codes/disconnect-outcomes.js';
import { openAuthState, readLinkedCreds } from '../keys/auth-state.js';
import type { KeyStorePort } from '../keys/key-store-port.js';
import type { LinkMethod } from '../linking/link-method.js';
import type { SessionCaches } from '../lookup/session-caches.js';
import { makeSocket } from '../socket/make-socket.js';
import { type BrowserName, socketSettings } from '../socket/socket-settings.js';
import { assertSafeEndpoint, type Endpoint } from '../socket/trust.js';
import { StanzaTrace } from '../tracing/stanza-trace.js';
import { showLogins } from './login-counter.js';
import type { OptionalQuery } from './optional-queries.js';
import { Session } from './session.js';
import { SessionEnd } from './session-end.js';
import { NotLinkedError } from './session-errors.js';
import type { MessengerSession, SessionEvents } from './session-types.js';

export interface OpenSessionOptions {
  keyStore: KeyStorePort;
  /** From `createSessionCaches()`; kept over reconnects, made anew with each lease. */
  caches: SessionCaches;
  endpoint: Endpoint;
  logger: Logger;
  /** Links a new device. Without effect when one is linked already: then the session logs in. */
  link?: LinkMethod;
  /**
   * The content of a message sent earlier, for a phone that could not decrypt it; `undefined` when it is gone. Without this
   * function requests of phones are not confirmed: the network says them again to the session that has it.
   */
  getMessage?: ((platformId: string) => Promise<ReadyContent | undefined>) | undefined;
  /**
   * The number that a message went to, as it was asked for; `undefined` for an id that is none of ours. Asked for each id
   * that a phone names, so it should be cheap. Without this function no message goes out again, and every receipt counts.
   */
  recipientOf?: ((platformId: string) => Promise<string | undefined>) | undefined;
  /** Called right before each frame that leaves; throws `FencedError` when the lease's deadline has passed. */
  assertMayWrite(): void;
  ackTimeoutMs: number;
  /** Bound of one `send`, the wait for others included. Default 20 s. */
  sendTimeoutMs?: number;
  /** Bound of the time until the network lets us in, or hands out the first code. Default 30 s. */
  openTimeoutMs?: number;
  /** So long after the last that waited at the network it counts as all, also without the network's word. Default 60 s. */
  catchUpQuietMs?: number;
  browser?: BrowserName;
  clientVersion?: [number, number, number];
  /** Queries not to be asked: they have ended connections of this account before. */
  leftOut?: ReadonlySet<OptionalQuery>;
  events: SessionEvents;
}

/**
 * Opens a connection to the messenger network and returns at once; `events` tell how it goes. It rejects when the
 * credentials cannot be read (`KeysUnreadableError`) or are missing (`NotLinkedError`): then no event comes.
 */
export async function openSession(options: OpenSessionOptions): Promise<MessengerSession> {
  assertSafeEndpoint(options.endpoint);
  const linked = await readLinkedCreds(options.keyStore);
  if (!linked && !options.link) throw new NotLinkedError();
  const end = new SessionEnd();
  const auth = openAuthState(linked, {
    keyStore: options.keyStore,
    caches: options.caches,
    onFailure: (error) => {
      options.logger.warn('key store failed', { error });
      end.begin(toFailureOutcome(error));
    },
  });
  showLogins(auth.creds);
  const trace = new StanzaTrace();
  const sock = makeSocket(socketSettings({ ...options, auth, trace }), {
    trust: options.endpoint.trust,
    onBroken: () => end.begin({ kind: 'reconnect', code: 500, backoff: 'network' }),
  });
  return new Session({ ...options, sock, auth, end, trace });
}
