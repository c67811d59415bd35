import { toFailureOutcome, toUnreadableOutcome } from '../codes/disconnect-outcomes.js';
import { openAuthState, readLinkedCreds } from '../keys/auth-state.js';
import type { KeyStorePort } from '../keys/key-store-port.js';
import { makeSocket } from '../socket/make-socket.js';
import { socketSettings } from '../socket/socket-settings.js';
import { assertSafeEndpoint } from '../socket/trust.js';
import { StanzaTrace } from '../tracing/stanza-trace.js';
import { showLogins } from './login-counter.js';
import { Session } from './session.js';
import type { SessionOptions } from './session-deps.js';
import { SessionEnd } from './session-end.js';
import { NotLinkedError } from './session-errors.js';
import type { MessengerSession } from './session-types.js';

export interface OpenSessionOptions extends SessionOptions {
  keyStore: KeyStorePort;
  clientVersion?: [number, number, number];
}

/**
 * Opens a connection to the messenger network and returns at once; progress goes to `onEvent`. It rejects when the
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
    onBroken: (error) => end.begin(toUnreadableOutcome(error)),
  });
  return new Session({ ...options, sock, auth, end, trace });
}
