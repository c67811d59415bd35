import type { ReadyContent } from '@gateway/contracts/content/message-content';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { AuthState } from '../keys/auth-state.js';
import type { LinkMethod } from '../linking/link-method.js';
import type { SessionCaches } from '../lookup/session-caches.js';
import type { BaileysSocket } from '../socket/baileys.js';
import type { BrowserName } from '../socket/socket-settings.js';
import type { Endpoint } from '../socket/trust.js';
import type { StanzaTrace } from '../tracing/stanza-trace.js';
import type { OptionalQuery } from './optional-queries.js';
import type { SessionEnd } from './session-end.js';
import type { OnSessionEvent } from './session-events.js';

/** Dependencies from the caller of `openSession`, valid as long as the session lives. */
export interface SessionOptions {
  /** From `createSessionCaches()`; kept over reconnects, new for each ownership. */
  caches: SessionCaches;
  endpoint: Endpoint;
  logger: Logger;
  /** Links a new device. Ignored if one is already linked: then the session logs in. */
  link?: LinkMethod;
  /**
   * The content of a message sent earlier, for a phone that could not decrypt it; `undefined` when it is gone. Without this
   * function requests of phones are not confirmed: the network repeats them to a session that has it.
   */
  getMessage?: ((platformId: string) => Promise<ReadyContent | undefined>) | undefined;
  /**
   * The number that a message was sent to, as given by the caller; `undefined` for an unknown id. Asked for each id
   * in receipts and requests, so it should be cheap. Without this function nothing is sent again, and every receipt counts.
   */
  recipientOf?: ((platformId: string) => Promise<string | undefined>) | undefined;
  /** Called right before each frame that leaves; throws `FencedError` when the session's deadline has passed. */
  assertMayWrite(): void;
  ackTimeoutMs: number;
  /** Timeout of one `send`, including the wait for others. Default 20 s. */
  sendTimeoutMs?: number;
  /** Timeout until the login succeeds, or the first code arrives. Default 30 s. */
  openTimeoutMs?: number;
  /** Time after the last backlog message at which the backlog counts as over, even without an end mark. Default 60 s. */
  catchUpQuietMs?: number;
  /** How long the account's phone may take to say a message again that the network does not have. Default 60 s. */
  phoneAnswerMs?: number;
  browser?: BrowserName;
  /** Queries to leave out: they have ended connections of this account before. */
  leftOut?: ReadonlySet<OptionalQuery>;
  onEvent: OnSessionEvent;
}

/** The parts of a session. */
export interface SessionDeps extends SessionOptions {
  sock: BaileysSocket;
  auth: AuthState;
  end: SessionEnd;
  trace: StanzaTrace;
}
