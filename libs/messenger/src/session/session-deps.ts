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
import type { SessionEvents } from './session-types.js';

/** What a session is made of; see `OpenSessionOptions` for what its caller gives. */
export interface SessionDeps {
  sock: BaileysSocket;
  auth: AuthState;
  end: SessionEnd;
  caches: SessionCaches;
  events: SessionEvents;
  endpoint: Endpoint;
  trace: StanzaTrace;
  logger: Logger;
  link?: LinkMethod;
  browser?: BrowserName;
  /** Absent: see `OpenSessionOptions`. */
  getMessage?: ((platformId: string) => Promise<ReadyContent | undefined>) | undefined;
  recipientOf?: ((platformId: string) => Promise<string | undefined>) | undefined;
  assertMayWrite(): void;
  ackTimeoutMs: number;
  sendTimeoutMs?: number;
  openTimeoutMs?: number;
  catchUpQuietMs?: number;
  /** Queries not to be asked: they have ended connections before. */
  leftOut?: ReadonlySet<OptionalQuery>;
}
