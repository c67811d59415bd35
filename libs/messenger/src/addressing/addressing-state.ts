import type { AckOutcome } from '../ack-outcomes.js';
import type { AuthenticationCreds } from '../baileys.js';

/** How the two sides of a conversation are named: by hidden identifiers, or by phone numbers. */
export type Namespace = 'lid' | 'pn';

/**
 * The namespace of all conversations of an account with one person, kept with its credentials. It belongs to the
 * account, not to the recipient: the network refuses the other one, by 463 (numbers) or 400 (hidden identifiers).
 */
export interface AddressingState {
  namespace: Namespace | 'unknown';
  /** Unix milliseconds at which the network last refused a message in both: the other one is not tried again for a day. */
  bothRefusedAtMs?: number;
}

const PROBE_AGAIN_MS = 24 * 60 * 60_000;
const WRONG_NUMBER = 463;
const WRONG_HIDDEN = 400;

export function otherNamespace(namespace: Namespace): Namespace {
  return namespace === 'lid' ? 'pn' : 'lid';
}

export function mayProbe({ bothRefusedAtMs }: AddressingState, nowMs: number): boolean {
  return bothRefusedAtMs === undefined || Math.abs(nowMs - bothRefusedAtMs) >= PROBE_AGAIN_MS;
}

/**
 * Whether a refusal can mean that the message was addressed in the wrong namespace. 463 has other causes: a lock, or a
 * missing token. By hidden identifier it counts only while nothing is known of the account: some were refused so.
 */
export function mayMeanAddress({ namespace: known }: AddressingState, used: Namespace, verdict: AckOutcome): boolean {
  if (verdict.kind !== 'refused' && verdict.kind !== 'restricted') return false;
  if (used === 'pn') return verdict.code === WRONG_NUMBER;
  return verdict.code === WRONG_HIDDEN || (known === 'unknown' && verdict.code === WRONG_NUMBER);
}

/** Credentials as they are stored: the library keeps what it does not know. */
export type StoredCreds = AuthenticationCreds & { addressing?: AddressingState };

/** What is stored with the credentials; anything else is an account of which nothing is known. */
export function readAddressing(creds: AuthenticationCreds): AddressingState {
  const { namespace, bothRefusedAtMs } = (creds as StoredCreds).addressing ?? {};
  return {
    namespace: namespace === 'lid' || namespace === 'pn' ? namespace : 'unknown',
    ...(typeof bothRefusedAtMs === 'number' && { bothRefusedAtMs }),
  };
}

/** The namespace in which messages go out now. Since July 2026 official clients address by hidden identifier, unless told otherwise. */
export function namespaceOf(creds: AuthenticationCreds): Namespace {
  const { namespace } = readAddressing(creds);
  return namespace === 'unknown' ? 'lid' : namespace;
}
