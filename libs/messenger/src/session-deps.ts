import type { ReadyContent } from '@gateway/contracts/message-content';
import type { Logger } from '@gateway/runtime/logger';
import type { AuthState } from './auth-state.js';
import type { BaileysSocket } from './baileys.js';
import type { OptionalQuery } from './optional-queries.js';
import type { SessionCaches } from './session-caches.js';
import type { SessionEnd } from './session-end.js';
import type { SessionEvents } from './session-types.js';
import type { BrowserName } from './socket-settings.js';
import type { StanzaTrace } from './tracing/stanza-trace.js';
import type { Endpoint } from './trust.js';
import type { LinkMethod } from './watch-linking.js';

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
