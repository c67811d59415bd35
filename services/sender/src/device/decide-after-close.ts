import type { Reason } from '@gateway/contracts/devices/device-state';
import { refusesVersion } from '@gateway/messenger/codes/disconnect-outcomes';
import { REPLACED_PAUSE_MS } from '@gateway/store/devices/incidents/count-replaced';
import type { SocketEnd } from './device-socket.js';

/** What an owner does after its socket has ended. */
export type AfterClose =
  /** Another socket, after the backoff and at least `minMs`. */
  | { kind: 'reopen'; reason: Reason; minMs: number }
  /** Another socket at once: the network asked for it. */
  | { kind: 'reopenNow' }
  /** The device is not linked any more. `quarantine`: its keys are worthless, and set aside. */
  | { kind: 'unlink'; reason: Reason; quarantine: boolean }
  /** Let go of the device: it is somebody else's. */
  | { kind: 'release' };

const LONG_MS = 5 * 60_000;

/** One answer for every way in which a socket ends; the compiler sees to it that none is missing. */
export function decideAfterClose(outcome: SocketEnd, nowMs: number): AfterClose {
  switch (outcome.kind) {
    case 'restart':
      return { kind: 'reopenNow' };
    case 'stalled':
      return { kind: 'reopen', reason: 'network', minMs: 0 };
    case 'reconnect':
      return { kind: 'reopen', reason: 'network', minMs: outcome.backoff === 'server' ? 1_000 : 0 };
    case 'unknown':
    // Of linking attempts only, and no reason to lose keys.
    case 'codeRefused':
    case 'passkeyRequired':
      return { kind: 'reopen', reason: 'network', minMs: 1_000 };
    case 'keysUnreadable':
      return { kind: 'reopen', reason: 'keys_unreadable', minMs: 1_000 };
    case 'rateLimited':
      return { kind: 'reopen', reason: 'rate_limited', minMs: outcome.minMs };
    // With a version that all are refused for no device logs in, however short the wait: see ClientVersion.
    case 'clientOutdated':
      return { kind: 'reopen', reason: 'client_outdated', minMs: refusesVersion(outcome) ? 0 : LONG_MS };
    case 'untrusted':
      return { kind: 'reopen', reason: 'untrusted', minMs: LONG_MS };
    case 'temporarilyBanned':
      return {
        kind: 'reopen',
        reason: 'temporarily_banned',
        minMs: outcome.untilMs ? outcome.untilMs - nowMs : LONG_MS,
      };
    case 'replaced':
      return { kind: 'reopen', reason: 'replaced', minMs: REPLACED_PAUSE_MS };
    case 'loggedOut':
    case 'linkExpired':
    case 'linkRefused':
      return { kind: 'unlink', reason: 'logged_out', quarantine: true };
    case 'notMultiDevice':
      return { kind: 'unlink', reason: 'not_multi_device', quarantine: true };
    case 'banned':
      return { kind: 'unlink', reason: 'banned', quarantine: true };
    case 'closedByUs':
    case 'fenced':
      return { kind: 'release' };
  }
}
