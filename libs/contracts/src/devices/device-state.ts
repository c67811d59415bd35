/**
 * What the user wants. The owner compares it with the actual state on every tick and doorbell, and closes the gap. `parked` is a
 * linked device whose keys another client uses: they are kept, and no process logs in before the user asks for it.
 */
export const WANTS = ['unlinked', 'linking', 'linked', 'parked'] as const;
export type Want = (typeof WANTS)[number];
export type LinkMethod = 'qrCode' | 'pairingCode';

export interface DesiredState {
  want: Want;
  /** Names one request to link or to unlink, so that an answer is never taken for that of another. */
  attemptId?: string;
  method?: LinkMethod;
  /** Digits; only with `pairingCode`. */
  phone?: string;
  /** `1`: the device was parked. Its keys are tried before there is a code, and kept if the network does not answer. */
  keepsKeys?: string;
}

export type DeviceStatus = 'connected' | 'connecting' | 'disconnected';

/** Why a device is not connected, or is and sends no lists yet, with the sentence that people read. */
export const REASONS = {
  never_linked: 'No account was ever linked to this device.',
  linking: 'Waiting for the phone to scan the code or to enter it.',
  scan_again: 'The network wants a second scan: scan the new code with the same phone.',
  restoring: 'The session is being restored.',
  owner_lost: 'The process that had the connection is gone; another one takes over.',
  no_sender: 'No sender runs, or all are full: start one. The network keeps what people write meanwhile.',
  owner_failing: 'Several processes that had the connection failed in a row; waiting before the next attempt.',
  network: 'The messenger network cannot be reached; retrying.',
  restart: 'The network asked for a restart of the connection.',
  disconnected: 'The account was disconnected on request.',
  logged_out: 'The device was removed on the phone. Link it again.',
  link_expired: 'All codes expired before a phone used one.',
  link_refused: 'The network or the phone refused the link.',
  link_code_refused: 'The network gives no code for this number now. Wait a while, or link by QR code.',
  link_code_limited: 'Too many codes were requested for this number. Wait before requesting another one.',
  link_qr_only: 'The network links this account by QR code only.',
  passkey_required:
    'The account asks for its passkey, which the gateway does not support. Link it with another client, and import that session with `device import`.',
  link_timeout: 'The messenger network did not answer.',
  replaced: 'Another client uses the keys of this device. Stop it, then connect again: the keys are kept.',
  banned: 'The network has banned this account.',
  temporarily_banned: 'The network has temporarily banned this account.',
  client_outdated:
    'The network refuses this version of the client: no device logs in until an operator sets another version.',
  not_multi_device: 'The account does not support linked devices.',
  rate_limited: 'The network has asked for a long pause; the device reconnects after it.',
  untrusted: 'The server could not prove that it is the messenger network.',
  keys_unreadable: 'The keys of this device cannot be read.',
  data_unavailable: 'The node of Redis that has this device cannot be reached; nothing else is known of it meanwhile.',
  awaiting_backlog:
    'Connected. Lists wait until all messages that people wrote while it was offline have arrived, as a STOP may be among them; one-time passwords do not wait.',
} as const;

export type Reason = keyof typeof REASONS;

/** A change of what the owner of a device observed. */
export interface DeviceChange {
  /** Grows with time. */
  id: string;
  atMs: number;
  status: DeviceStatus;
  reason?: Reason;
}

/** The observed state. Written only by the owner. */
export interface ObservedState {
  status: DeviceStatus;
  reason?: Reason;
  /** The network's reason, in its own words. */
  networkReason?: string;
  /** The request that this answers. */
  attemptId?: string;
  /** After an unlink: whether the network confirmed it, or the phone may still list the device. */
  logout?: 'confirmed' | 'unconfirmed';
  code?: string;
  codeExpiresAtMs?: number;
  /** Digits of the linked account. */
  phone?: string;
  name?: string;
  profilePic?: string;
  /** No login before this time. */
  notBeforeMs?: number;
  /** Of a new link: the network expects a login soon, and no process has begun with it. */
  firstLogin?: 'due';
  sinceMs: number;
}

export type PublicStatus =
  | { status: 'connected'; phone: string; name: string; profilePic?: string; reason?: typeof BEHIND }
  | { status: 'connecting' | 'disconnected'; reason: Reason; networkReason?: string };

/** In a list, of a device whose node of a Redis Cluster is away: it hides no other. */
export const UNAVAILABLE = { status: 'connecting', reason: 'data_unavailable' } as const satisfies PublicStatus;

const BEHIND = 'awaiting_backlog' satisfies Reason;

/** Reasons with a pause that the network asked for. The pauses after other ends are our own, and no user has to wait for them. */
const ASKED_PAUSES: ReadonlySet<Reason> = new Set(['rate_limited', 'temporarily_banned']);

export function asksPause(reason: Reason): boolean {
  return ASKED_PAUSES.has(reason);
}

/** Until when the network has asked this device not to log in (ms since 1970), regardless of later requests of the user; 0 if it has not. */
export function askedPauseEndMs(observed: ObservedState | undefined): number {
  return observed?.reason && asksPause(observed.reason) ? (observed.notBeforeMs ?? 0) : 0;
}

/** Processes that follow the same clock differ by less. */
const CLOCKS_DIFFER_MS = 5_000;

/**
 * How long until the next login, in ms, as the last owner stored it for this request of the user; 0 at once. A pause of its own that
 * begins at a time to come is over: it was written while the clock of Redis was ahead, by as much as it would last too long.
 */
export function restBeforeLoginMs(desired: DesiredState, observed: ObservedState | undefined, nowMs: number): number {
  if (observed?.status !== 'connecting' || observed.attemptId !== desired.attemptId) return 0;
  const { reason, sinceMs, notBeforeMs = 0 } = observed;
  const isAsked = reason !== undefined && asksPause(reason);
  return isAsked || sinceMs <= nowMs + CLOCKS_DIFFER_MS ? Math.max(0, notBeforeMs - nowMs) : 0;
}

/**
 * The one place that computes a device's status, from the wanted state, the observed state, and whether a process
 * owns it. A `connected` without an owner is stale: it died. `hasSender`: some sender lives that could be the next.
 */
export function deriveStatus(
  desired: DesiredState | undefined,
  observed: ObservedState | undefined,
  isOwned: boolean,
  { hasSender = true }: { hasSender?: boolean } = {},
): PublicStatus {
  const want = desired?.want ?? 'unlinked';
  if (want === 'unlinked' || want === 'parked') {
    const words = observed?.status === 'disconnected' ? wordsOf(observed) : {};
    return { status: 'disconnected', reason: unlinkedReason(observed), ...words };
  }
  if (want === 'linking') return { status: 'connecting', reason: linkingReason(desired, observed, isOwned) };
  if (!isOwned) return { status: 'connecting', reason: hasSender ? ownerless(observed) : 'no_sender' };
  if (observed?.status === 'connected' && observed.phone) return connected(observed, observed.phone);
  return { status: 'connecting', reason: observed?.reason ?? 'restoring', ...wordsOf(observed) };
}

function ownerless(observed: ObservedState | undefined): Reason {
  return observed?.status === 'connected' ? 'owner_lost' : 'restoring';
}

/** The observed state counts only for its own attempt, and while the process that shows the codes lives. */
function linkingReason(
  desired: DesiredState | undefined,
  observed: ObservedState | undefined,
  isOwned: boolean,
): 'linking' | 'scan_again' | 'restoring' {
  const isOfAttempt = observed?.attemptId === desired?.attemptId;
  if (!isOfAttempt && desired?.keepsKeys) return 'restoring';
  return isOwned && isOfAttempt && observed?.reason === 'scan_again' ? 'scan_again' : 'linking';
}

function wordsOf(observed: ObservedState | undefined): { networkReason?: string } {
  return observed?.networkReason === undefined ? {} : { networkReason: observed.networkReason };
}

function unlinkedReason(observed: ObservedState | undefined): Reason {
  if (!observed) return 'never_linked';
  return observed.status === 'disconnected' ? (observed.reason ?? 'disconnected') : 'disconnected';
}

function connected(observed: ObservedState, phone: string): PublicStatus {
  const { name = phone, profilePic, reason } = observed;
  return {
    status: 'connected',
    ...{ phone, name },
    ...(profilePic && { profilePic }),
    ...(reason === BEHIND && { reason }),
  };
}
