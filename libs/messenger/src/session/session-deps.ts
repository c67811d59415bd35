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

/** What the caller of `openSession` gives, for as long as the session lives. */
export interface SessionOptions {
  /** From `createSessionCaches()`; kept over reconnects, new for each ownership. */
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
   * The number that a message went to, as it was asked for; `undefined` for an unknown id. Asked for each id
   * that a phone names, so it should be cheap. Without this function no message goes out again, and every receipt counts.
   */
  recipientOf?: ((platformId: string) => Promise<string | undefined>) | undefined;
  /** Called right before each frame that leaves; throws `FencedError` when the session's deadline has passed. */
  assertMayWrite(): void;
  ackTimeoutMs: number;
  /** Bound of one `send`, the wait for others included. Default 20 s. */
  sendTimeoutMs?: number;
  /** Bound of the time until the network lets us in, or hands out the first code. Default 30 s. */
  openTimeoutMs?: number;
  /** So long after the last that waited at the network it counts as all, also without the network's word. Default 60 s. */
  catchUpQuietMs?: number;
  browser?: BrowserName;
  /** Queries not to be asked: they have ended connections of this account before. */
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
