import {
  type BreakerOutcome,
  DELAYS_MS,
  DISABLED_AFTER_MS,
  MANY_FAILURES,
  nextBreaker,
} from '@gateway/contracts/webhooks/breaker';
import { isLate, LATE, nextAside } from './failing-claims.js';
import type { LaneWork } from './lane-work.js';
import type { PostedTold } from './post-told.js';
import { type Answered, wasRefused, wasSilent } from './work.js';

/**
 * What fails in a replay says nothing of its endpoint, which may refuse what it has already. So a replay has a clock of its own, while
 * its endpoint does not fail with anything else. That it failed stands in the breaker, which is emptied when something is taken: only then
 * is it known that the endpoint is not down, and the request of the replay can be put aside. An endpoint that takes nothing of a replay for
 * days is told no more of it.
 */

/** At the longest delay these are 72 hours. */
const LAST_FAILURE = DISABLED_AFTER_MS / DELAYS_MS.at(-1)!;

const hasOwnClock = ({ lane, taken }: LaneWork): boolean => lane === 'replay' && !taken.breaker.failures;

/**
 * What an answer means for the endpoint: nothing if its time had not come, unless another lane was tried, and it asks all of them to wait, or
 * took some of that.
 */
export function outcomeIn(work: LaneWork, answered: PostedTold, isEarly = work.isEarly): BreakerOutcome | undefined {
  const isOfThis = wasRefused(answered) || wasSilent(answered);
  if (isEarly && isOfThis) {
    if (!work.isEarly) return undefined;
    if (answered.retryAfterMs) return answered.outcome;
    return answered.takenTold.length > 0 ? afterTaken(work, answered) : undefined;
  }
  if (!hasOwnClock(work) || !isOfThis) return answered.outcome;
  const { breaker } = work.taken;
  // Both have failed since something was taken.
  const shared = breaker.aside && { aside: nextAside(work.taken, answered.nowMs) };
  return { status: 'active', breaker: { ...breaker, failedReplay: true, ...shared } };
}

/** Though something beside it was refused. */
export const afterTaken = ({ taken }: LaneWork, { nowMs }: Answered): BreakerOutcome =>
  nextBreaker(taken.breaker, { attempt: { status: 200 } }, { nowMs, random: 0 });

/**
 * After so many failures of a claim, whatever others are answered. Then the clock of the endpoint says when it is posted again; a replay has
 * its own, for ever in strict order, in which it is never put aside.
 */
export function firstPauses(work: LaneWork, failures: number, many = MANY_FAILURES): number {
  const isKept = work.lane === 'replay' && work.webhook.settings.order === 'strict';
  if (failures >= many && !isKept && !hasOwnClock(work)) return 0;
  const delayMs = DELAYS_MS[Math.min(failures, DELAYS_MS.length) - 1]!;
  return failures >= DELAYS_MS.length && isLate(work.taken) ? delayMs * LATE : delayMs;
}

/** The first probes wait for nothing, as everywhere; further ones are posted in turn with the claim, on its clock. */
export const pauseAfterProbe = (
  work: LaneWork,
  { failures, isEarly }: { failures: number; isEarly: boolean },
): number => (hasOwnClock(work) && !isEarly ? firstPauses(work, failures) : 0);

export const isGivenUp = ({ lane }: LaneWork, failures: number): boolean =>
  lane === 'replay' && failures >= LAST_FAILURE;
