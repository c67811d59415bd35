import type { Reason } from '@gateway/contracts/devices/device-state';
import type { DisconnectOutcome } from './disconnect-outcomes.js';

export type { DisconnectOutcome };

/** What the owner of a device does after its session has ended. */
type NextStep =
  /** Another session at once: the network asked for it. */
  | 'reconnectNow'
  /** Another session, after the owner's backoff and at least `afterMs`. */
  | 'reconnect'
  /** The same, unless it happened too often: then the device is parked with its keys. */
  | 'reconnectOrPark'
  /** No device logs in before an operator has set another version of the client. */
  | 'stopFleet'
  /** The device is not linked any more. Its keys are worthless, and set aside. */
  | 'deleteKeys'
  /** Release the device: another process owns it. */
  | 'release';

export interface DisconnectPolicy {
  next: NextStep;
  /** No login before, in ms from now. */
  afterMs?: number;
  /** The public reason while the device is not connected. */
  reason: Reason;
  /** The log line: a constant sentence. */
  log: string;
}

/** A version that the network refuses from every device; 409 is about the one that it was said to. */
const REFUSED_OF_ALL = 405;
const LONG_MS = 5 * 60_000;
const REPLACED_MS = 10_000;

/** What follows the end of a session, in either service. */
export function disconnectPolicy(outcome: DisconnectOutcome, nowMs: number): DisconnectPolicy {
  const row = POLICIES[outcome.kind] as Row<DisconnectOutcome>;
  return typeof row === 'function' ? row(outcome, nowMs) : row;
}

type Row<Outcome> = DisconnectPolicy | ((outcome: Outcome, nowMs: number) => DisconnectPolicy);
type Outcome<Kind> = Extract<DisconnectOutcome, { kind: Kind }>;

/** One row for each outcome: one without does not compile. */
const POLICIES: { [Kind in DisconnectOutcome['kind']]: Row<Outcome<Kind>> } = {
  restart: { next: 'reconnectNow', reason: 'restart', log: 'The network asks for a new connection.' },
  reconnect: ({ backoff }) =>
    backoff === 'server'
      ? {
          next: 'reconnect',
          afterMs: 1_000,
          reason: 'network',
          log: 'The server asks for a pause, or keys were not written.',
        }
      : { next: 'reconnect', reason: 'network', log: 'The connection broke.' },
  stalled: {
    next: 'reconnect',
    reason: 'network',
    log: 'The network did not answer for long, and the session was given up.',
  },
  unknown: { next: 'reconnect', afterMs: 1_000, reason: 'network', log: 'The network gave a code that is not known.' },
  keysUnreadable: {
    next: 'reconnect',
    afterMs: 1_000,
    reason: 'keys_unreadable',
    log: 'Keys could not be read, and nothing was sent without them.',
  },
  rateLimited: ({ minMs }) => ({
    next: 'reconnect',
    afterMs: minMs,
    reason: 'rate_limited',
    log: 'The network asks for a long pause.',
  }),
  temporarilyBanned: ({ untilMs }, nowMs) => ({
    next: 'reconnect',
    afterMs: untilMs ? untilMs - nowMs : LONG_MS,
    reason: 'temporarily_banned',
    log: 'The network has banned the account for a time.',
  }),
  untrusted: {
    next: 'reconnect',
    afterMs: LONG_MS,
    reason: 'untrusted',
    log: 'The server could not prove to be the network.',
  },
  frameTooLarge: {
    next: 'reconnect',
    afterMs: LONG_MS,
    reason: 'network',
    log: 'The network sent more in one frame or message than is taken.',
  },
  clientOutdated: ({ code }) =>
    code === REFUSED_OF_ALL
      ? { next: 'stopFleet', reason: 'client_outdated', log: 'The network refuses this version of the client.' }
      : {
          next: 'reconnect',
          afterMs: LONG_MS,
          reason: 'client_outdated',
          log: 'The network refuses this version of the client from this device.',
        },
  replaced: {
    next: 'reconnectOrPark',
    afterMs: REPLACED_MS,
    reason: 'replaced',
    log: 'Another client logged in with the keys of this device.',
  },
  loggedOut: { next: 'deleteKeys', reason: 'logged_out', log: 'The device was removed on the phone.' },
  notMultiDevice: { next: 'deleteKeys', reason: 'not_multi_device', log: 'The account takes no linked devices.' },
  banned: { next: 'deleteKeys', reason: 'banned', log: 'The network has banned the account.' },
  // Of linking attempts only: half-made keys are worth nothing.
  linkExpired: { next: 'deleteKeys', reason: 'link_expired', log: 'No phone took any of the codes.' },
  linkRefused: { next: 'deleteKeys', reason: 'link_refused', log: 'The network or the phone refused the link.' },
  // These as well, and they say nothing of any keys.
  codeRefused: ({ why }) => ({
    next: 'reconnect',
    afterMs: 1_000,
    reason: CODE_REASONS[why],
    log: 'The network gives out no code to type.',
  }),
  passkeyRequired: {
    next: 'reconnect',
    afterMs: 1_000,
    reason: 'passkey_required',
    log: 'The account asks for its passkey.',
  },
  closedByUs: { next: 'release', reason: 'network', log: 'The session was closed here.' },
  fenced: { next: 'release', reason: 'network', log: 'Another process owns the device now.' },
};

/** All ends that there are. */
export const DISCONNECT_KINDS = Object.keys(POLICIES) as DisconnectOutcome['kind'][];

const CODE_REASONS = { unclear: 'link_code_refused', later: 'link_code_limited', never: 'link_qr_only' } as const;
