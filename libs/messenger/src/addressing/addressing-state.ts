import type { AckOutcome } from '../codes/ack-outcomes.js';
import type { AuthenticationCreds } from '../socket/baileys.js';

/** How the two sides of a conversation are named: by hidden identifiers, or by phone numbers. */
export type Namespace = 'lid' | 'pn';

/**
 * The namespace of all conversations of an account with one person, kept with its credentials. It belongs to the
 * account, not to the recipient: the network refuses the other one, by 463 (numbers) or 400 (hidden identifiers).
 */
export interface AddressingState {
  namespace: Namespace | 'unknown';
  /** Known only from the account's phone, or from a message refused in both: the network has not accepted a message in it since. */
  isTold?: true;
  /** When the network last refused a message in both, and whether it showed a token: the other one rests for a while. */
  bothRefused?: { atMs: number; withToken: boolean };
}

/** A message without a token is refused in either namespace: that proves little, and should not be repeated soon. */
const REST_MS = { withToken: 30 * 60_000, withoutToken: 6 * 60 * 60_000 };
const WRONG_NUMBER = 463;
const WRONG_HIDDEN = 400;

export function otherNamespace(namespace: Namespace): Namespace {
  return namespace === 'lid' ? 'pn' : 'lid';
}

/**
 * Whether a message may try out the other namespace. The first one that shows a token may also soon after one that did
 * not: it is the better witness.
 */
export function mayProbe(
  { bothRefused }: AddressingState,
  { nowMs, withToken }: { nowMs: number; withToken: boolean },
): boolean {
  if (!bothRefused || (withToken && !bothRefused.withToken)) return true;
  return Math.abs(nowMs - bothRefused.atMs) >= (bothRefused.withToken ? REST_MS.withToken : REST_MS.withoutToken);
}

/**
 * What is known about an account after the network has refused a message in both namespaces. If nothing was known, 400 by
 * hidden identifier says that the account has not migrated, and 463 by it that it has: a number would be refused with
 * 463 for lack of a token, too. This proves neither. What was known stays: 400 can also be about the one message.
 */
export function afterBothRefused(state: AddressingState, hiddenCode: number, bothRefused: Refusals): AddressingState {
  if (state.namespace !== 'unknown') return { ...state, bothRefused };
  if (hiddenCode === WRONG_HIDDEN) return { namespace: 'pn', isTold: true, bothRefused };
  if (hiddenCode === WRONG_NUMBER) return { namespace: 'lid', isTold: true, bothRefused };
  return { namespace: 'unknown', bothRefused };
}

type Refusals = NonNullable<AddressingState['bothRefused']>;

/**
 * Whether a refusal can mean that the message was addressed in the wrong namespace. 463 has other causes: a lock, or a
 * missing token. By hidden identifier it counts only until the network has taken a message: some were refused so.
 */
export function mayMeanAddress(
  { namespace: known, isTold }: AddressingState,
  used: Namespace,
  verdict: AckOutcome,
): boolean {
  if (verdict.kind !== 'refused' && verdict.kind !== 'restricted') return false;
  if (used === 'pn') return verdict.code === WRONG_NUMBER;
  const isProven = known !== 'unknown' && !isTold;
  return verdict.code === WRONG_HIDDEN || (!isProven && verdict.code === WRONG_NUMBER);
}

/** Credentials as stored: the library keeps fields that it does not know. */
export type StoredCreds = AuthenticationCreds & {
  addressing?: AddressingState;
  /** Last value of `MIGRATION_SETTING` from the network. */
  isMigrationEnabled?: boolean;
};

/** Whether the account's conversations may be by hidden identifier (`lid_one_on_one_migration_enabled`). */
export const MIGRATION_SETTING = '9435';

/** The state stored with the credentials; anything else means that nothing is known about the account. */
export function readAddressing(creds: AuthenticationCreds): AddressingState {
  const { namespace, isTold, bothRefused } = (creds as StoredCreds).addressing ?? {};
  return {
    namespace: namespace === 'lid' || namespace === 'pn' ? namespace : 'unknown',
    ...(isTold === true && { isTold }),
    ...(typeof bothRefused?.atMs === 'number' && { bothRefused }),
  };
}

/**
 * The namespace in which messages go out now. If nothing is known, the network's setting decides which one is tested first;
 * without it hidden identifiers, as official clients do since July 2026.
 */
export function namespaceOf(creds: StoredCreds): Namespace {
  const { namespace } = readAddressing(creds);
  if (namespace !== 'unknown') return namespace;
  return creds.isMigrationEnabled === false ? 'pn' : 'lid';
}
