import { FencedError } from '@gateway/runtime/errors';
import { isTooLarge } from '../frames/frame-too-large.js';
import { KeysUnreadableError, TimeoutError, UntrustedServerError } from '../session/session-errors.js';
import { DisconnectReason } from '../socket/baileys.js';
import { meaningOfEnd } from './network-codes.js';

/** Why a session ended. `disconnectPolicy` decides what follows. */
export type DisconnectOutcome =
  /** `close()` was called. */
  | { kind: 'closedByUs' }
  /** Its owner gave it up, because the network did not answer. No session reports this: owners make it of `closedByUs`. */
  | { kind: 'stalled' }
  /** The device was removed from the account. Its keys are worthless: quarantine them, stop. */
  | { kind: 'loggedOut'; code: number }
  /** Stop until then; `undefined` if the network gave no time. */
  | { kind: 'temporarilyBanned'; code: number; untilMs: number | undefined }
  /** Stop, and report it. */
  | { kind: 'banned'; code: number }
  /** The network refuses this version of the client: 405 from every device, 409 from this one. */
  | { kind: 'clientOutdated'; code: number }
  /** Try again with backoff and jitter: soon when the path broke (`network`), slower when the server asks for rest (`server`). */
  | { kind: 'reconnect'; code: number; backoff: 'network' | 'server' }
  /** The network asks for a new connection, at once: after linking, and now and then. */
  | { kind: 'restart'; code: number }
  /** Another client logged in with these keys. */
  | { kind: 'replaced'; code: number }
  /** The account does not take linked devices. */
  | { kind: 'notMultiDevice'; code: number }
  /** Wait at least this long. */
  | { kind: 'rateLimited'; code: number; minMs: number }
  /** Backoff; the keys stay. */
  | { kind: 'unknown'; code: number }
  /** All codes of this linking attempt were shown, and no phone took one. */
  | { kind: 'linkExpired' }
  /** The network or the phone refused this linking attempt; `code` is the network's, where it gave one. */
  | { kind: 'linkRefused'; code: number | undefined }
  /** The network gives out no code to type. `later`: for now; `never`: this account links by QR code only. */
  | { kind: 'codeRefused'; code: number; why: 'unclear' | 'later' | 'never' }
  /** The account links no client without its passkey. */
  | { kind: 'passkeyRequired' }
  /** The server could not prove to be the network: long backoff, and an alert. */
  | { kind: 'untrusted' }
  /** The network sent more at once than a process may take for one device. Long backoff: it may send it again. */
  | { kind: 'frameTooLarge' }
  /** The ownership is lost. Release the device. */
  | { kind: 'fenced' }
  /** Keys could not be read, and nothing was sent without them. Open again with backoff; the keys stay. */
  | { kind: 'keysUnreadable' };

/** How a session ended. */
export interface Ending {
  error: unknown;
  /** Absent once the device is linked; else how many codes of the linking attempt were still to be shown. */
  linking?: { codesLeft: number };
  nowMs: number;
}

/** Library and network both count the time of the last code: whichever is first hangs up. */
const USED_UP: ReadonlySet<number> = new Set([DisconnectReason.timedOut, DisconnectReason.connectionClosed]);

/** Classifies an end of the library's socket. Never throws. */
export function toDisconnectOutcome({ error, linking, nowMs }: Ending): DisconnectOutcome {
  if (error instanceof UntrustedServerError) return { kind: 'untrusted' };
  if (isTooLarge(error)) return { kind: 'frameTooLarge' };
  if (isAboutAck(error)) return broken(DisconnectReason.connectionLost);
  const { code, spoken, expireSeconds } = readError(error);
  if (linking?.codesLeft === 0 && USED_UP.has(code)) return { kind: 'linkExpired' };
  const outcome = spoken ? spokenOutcome(code, expireSeconds && nowMs + expireSeconds * 1000) : broken(code);
  return linking && refusesLink(outcome) ? { kind: 'linkRefused', code } : outcome;
}

/**
 * Whether the other side has ended the connection over something that it was told or asked. Silence is no such end, nor
 * is what it says of the account, of our version or of the connection as a whole.
 */
export function isHangUp(error: unknown): boolean {
  const end = toDisconnectOutcome({ error, nowMs: 0 });
  if (end.kind === 'unknown') return true;
  return end.kind === 'reconnect' && end.backoff === 'network' && end.code !== DisconnectReason.timedOut;
}

/** Whether the network announced the end; otherwise the path may have broken. */
export function hasSpoken(error: unknown): boolean {
  const { data } = (error ?? {}) as LibraryError;
  return data !== undefined && data !== null && !(data instanceof Error);
}

/** Classifies a failed read or write of keys. Never throws. */
export function toFailureOutcome(error: unknown): DisconnectOutcome {
  if (error instanceof FencedError) return { kind: 'fenced' };
  if (error instanceof KeysUnreadableError) return { kind: 'keysUnreadable' };
  return { kind: 'reconnect', code: DisconnectReason.badSession, backoff: 'server' };
}

/** Classifies data of the network that cannot be read. Never throws. */
export function toUnreadableOutcome(error: unknown): DisconnectOutcome {
  return isTooLarge(error) ? { kind: 'frameTooLarge' } : broken(DisconnectReason.badSession);
}

/** Meaning of a refused code: 400 is a request that the network rejects, or a rate limit. */
const CODE_REFUSALS: Record<number, 'unclear' | 'later' | 'never'> = { 400: 'unclear', 429: 'later', 452: 'never' };

/** Classifies a failed request for a code; `undefined` if the connection failed, whose end has the reason. Never throws. */
export function refusalOfCode(thrown: unknown): DisconnectOutcome | undefined {
  if (thrown instanceof TimeoutError) return broken(DisconnectReason.timedOut);
  // An answer that we cannot read.
  if (thrown instanceof TypeError) return { kind: 'linkRefused', code: undefined };
  const code = Number((thrown as LibraryError | undefined)?.data) || undefined;
  if (code === undefined) return undefined;
  const why = CODE_REFUSALS[code];
  return why ? { kind: 'codeRefused', code, why } : { kind: 'linkRefused', code };
}

function spokenOutcome(code: number, untilMs: number | undefined): DisconnectOutcome {
  const meaning = meaningOfEnd(code);
  return meaning.kind === 'temporarilyBanned' ? { kind: meaning.kind, code, untilMs } : { ...meaning, code };
}

function broken(code: number): DisconnectOutcome {
  return { kind: 'reconnect', code, backoff: 'network' };
}

/** Without a linked account these can only be about this attempt. */
function refusesLink({ kind }: DisconnectOutcome): boolean {
  return kind === 'loggedOut' || kind === 'unknown';
}

/** `<stream:error><ack/>`: we did not confirm something in time. It has no code; the connection must be opened again. */
function isAboutAck(error: unknown): boolean {
  const { data } = (error ?? {}) as LibraryError;
  return (data as { tag?: unknown } | undefined)?.tag === 'ack';
}

interface LibraryError {
  output?: { statusCode?: unknown };
  data?: unknown;
}

/**
 * `spoken`: the messenger network itself said so. The library puts the HTTP status of a failed upgrade into the same
 * field, and a 403 of some proxy on the way is no ban: such errors carry the WebSocket's own error as their data.
 */
function readError(error: unknown): { code: number; spoken: boolean; expireSeconds: number | undefined } {
  const { output, data } = (error ?? {}) as LibraryError;
  const code = Number(output?.statusCode);
  const expire = Number((data as { expire?: unknown } | undefined)?.expire);
  return {
    code: Number.isInteger(code) ? code : DisconnectReason.badSession,
    spoken: Number.isInteger(code) && !(data instanceof Error),
    expireSeconds: Number.isFinite(expire) && expire > 0 ? expire : undefined,
  };
}
