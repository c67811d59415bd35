import type { DisconnectOutcome } from '../codes/disconnect-outcomes.js';
import type { AuthState } from '../keys/auth-state.js';
import type { LinkingCode } from '../session/session-events.js';
import type { BaileysSocket, BinaryNode } from '../socket/baileys.js';
import type { BrowserName } from '../socket/socket-settings.js';
import type { LinkMethod } from './link-method.js';

export interface LinkingDeps {
  sock: BaileysSocket;
  auth: Pick<AuthState, 'creds'>;
  browser: BrowserName;
  link: LinkMethod;
  onCode(code: LinkingCode): void;
  /** The attempt is over without an account. */
  onEnded(outcome: DisconnectOutcome): void;
  /** Aborted when the session ends. */
  signal: AbortSignal;
}

export interface Linking {
  /** Codes still to be shown; many until the network has sent them, and as long as a typed code is good. */
  codesLeft(): number;
}

/** The source of an attempt's codes, with the requests that the network may make. */
export interface CodeDisplay extends Linking {
  /** The network has retired the secret that the code on the screen advertises. */
  retireSecret(): void;
  /** A step of linking by a typed code. `ours`: the library must not see it. */
  takeStep(node: BinaryNode): 'ours' | 'library';
}
