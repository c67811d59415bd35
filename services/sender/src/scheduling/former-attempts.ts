import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import { isNetworkCode, type OwnRecipientError, ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { pauseAfter } from './retries.js';

/** What held recipients wait for. */
export const HOLD_REASONS = ['new_contacts_held', 'awaiting_history'] as const satisfies OwnRecipientError[];
export type HoldReason = (typeof HOLD_REASONS)[number];

/** What a recipient waits for who is not in flight. */
export type WaitReason = HoldReason | 'looked_up_again';

const WAIT_REASONS: ReadonlyMap<number, WaitReason> = new Map(
  ([...HOLD_REASONS, 'looked_up_again'] as const).map((name) => [ownErrorCode(name), name]),
);
/** Number of owners that died with a recipient in flight (or attempts before that) after which the recipient is a suspect. */
const MANY_ATTEMPTS = 3;
/** With this many suspects in one send, its content may be the cause. */
const MANY_SUSPECTS = 2;
/** Attempted so close to each other, they were in flight together: whatever ended their owner did so once. */
const TOGETHER_MS = 1_000;

/** What Redis says of the recipients of a send who are not settled, when it is loaded. */
export class FormerAttempts {
  /** Those of whom it says what they wait for. */
  readonly waits = new Map<number, WaitReason>();
  /** Those whom the network has refused as strangers while it knew of no restriction. */
  readonly refusedOnce = new Set<number>();
  /** The parts that the network has accepted, a bit each, of recipients that are missing others. */
  readonly accepted = new Map<number, number>();
  /** Those whose phones may show some of the message; who was attempted most often first: whatever ends owners is found soonest. */
  readonly doubtful: RecipientView[] = [];
  readonly others: number[] = [];
  readonly suspects: Suspects;

  constructor(recipients: readonly RecipientView[]) {
    for (const recipient of recipients) if (recipient.status === 'queued') this.note(recipient);
    this.doubtful.sort((a, b) => b.attempts - a.attempts);
    this.suspects = findSuspects(this.doubtful);
  }

  private note(recipient: RecipientView): void {
    const { index, partsAcked, errorCode } = recipient;
    if (partsAcked > 0) this.accepted.set(index, partsAcked);
    const reason = WAIT_REASONS.get(errorCode);
    if (reason) this.waits.set(index, reason);
    if (isNetworkCode(errorCode)) this.refusedOnce.add(index);
    if (mayBeShown(recipient)) this.doubtful.push(recipient);
    else this.others.push(index);
  }
}

/** The same as libs/store/src/sends/shared/results.lua says. */
function mayBeShown({ partsInFlight, partsInDoubt, partsAcked }: RecipientView): boolean {
  return (partsInFlight | partsInDoubt | partsAcked) > 0;
}

/** The recipients of a send that may have caused the death of its owners. */
export interface Suspects {
  /** Those with the fewest attempts first: innocent ones are cleared before the likely cause is attempted again. */
  each: { index: number; notBeforeMs: number }[];
  /** When the send may continue; 0: no pause. It doubles with each owner that dies. */
  sendNotBeforeMs: number;
}

function findSuspects(recipients: readonly RecipientView[]): Suspects {
  const lost = recipients.filter(({ partsInFlight }) => partsInFlight > 0);
  const found = lost.filter(({ attempts }) => attempts >= MANY_ATTEMPTS).toSorted((a, b) => a.attempts - b.attempts);
  const sendNotBeforeMs = isSuspectSend(found.length) ? pauseOfAll(lost) : 0;
  const each = found.map(({ index, attempts, atMs }) => {
    const notBeforeMs = Math.max(atMs + pauseAfter(attempts - MANY_ATTEMPTS), sendNotBeforeMs);
    return { index, notBeforeMs };
  });
  return { each, sendNotBeforeMs };
}

export function isSuspectSend(suspects: number): boolean {
  return suspects >= MANY_SUSPECTS;
}

/**
 * Several are in flight at a time only until the third owner in a row: all that were share the same ends, also where the network stood
 * still in between. Who was attempted alone has ends of their own.
 */
function pauseOfAll(lost: readonly RecipientView[]): number {
  const groups: { size: number; most: number; lastMs: number }[] = [];
  for (const { attempts, atMs } of lost.toSorted((a, b) => a.atMs - b.atMs)) {
    const group = groups.at(-1);
    if (!group || atMs - group.lastMs > TOGETHER_MS) groups.push({ size: 1, most: attempts, lastMs: atMs });
    else Object.assign(group, { size: group.size + 1, most: Math.max(group.most, attempts), lastMs: atMs });
  }
  let [shared, alone] = [0, 0];
  for (const { size, most } of groups) {
    if (size > 1) shared = Math.max(shared, most);
    else alone += most;
  }
  return groups.at(-1)!.lastMs + pauseAfter(Math.max(0, shared + alone - MANY_SUSPECTS * MANY_ATTEMPTS));
}
