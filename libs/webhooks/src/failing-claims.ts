import { type Breaker, DELAYS_MS, MANY_FAILURES } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import type { TakenWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import type { LaneClaim, LaneState, TellLane } from '@gateway/store/webhooks/delivering/lanes';
import type { Webhook } from '@gateway/store/webhooks/webhooks';

/** A failing endpoint gets so many requests that its clock does not ask for, until something is taken: with these a day is 110 at most. */
export const MOST_OFF_CLOCK = 7;
export const manyFor = ({ isDoubted }: Pick<LaneClaim, 'isDoubted'>): number => (isDoubted ? 1 : MANY_FAILURES);

export const failuresOf = ({ refusals, silences = 0 }: LaneClaim): number => refusals + silences;

export const hasFailed = ({ claim }: LaneState): boolean => claim !== undefined && failuresOf(claim) > 0;

export const isFailing = (claim: LaneClaim): boolean =>
  claim.refusals >= manyFor(claim) || (claim.silences ?? 0) >= manyFor(claim);

/** Also of what a lane has passed for now. */
export const claimsIn = ({ claim, held = [] }: LaneState): LaneClaim[] =>
  [claim, ...held.map((part) => part.claim)].filter((each) => each !== undefined);

/** What comes behind it, or beside it, is tried in its place. */
export const hasFailedOften = (state: LaneState): boolean => claimsIn(state).some(isFailing);

export const isStuck = ({ webhook }: { webhook: Webhook }, claim: LaneClaim): boolean =>
  isFailing(claim) && webhook.settings.order !== 'strict';

/** Of many refusals in a row of what is put aside the halves cannot be the cause: then it is as if the endpoint failed. */
export const HALVINGS = Math.ceil(Math.log2(WEBHOOK_LIMITS.maxChanges)) + 1;

type Requested = Pick<TakenWebhook, 'lanes' | 'breaker'>;

export const offClockOf = ({ lanes, breaker: { halves = 0 } }: Requested): number =>
  Object.values(lanes)
    .flatMap(claimsIn)
    .reduce((total, { offClock = 0 }) => total + offClock, halves > HALVINGS ? halves : 0);

/** Its clocks make up for what they did not ask for. */
export const isLate = (taken: Requested): boolean => offClockOf(taken) + (taken.breaker.asides ?? 0) > MOST_OFF_CLOCK;

/** Where more was under way when it began to fail than its clock asks for, this makes up for that in a day, as the clock of an endpoint does. */
export const LATE = 1.25;

/** The clock of what is put aside, after one more failure of what had failed before; a replay that has failed, too, had requests of its own. */
export function nextAside(taken: Requested, nowMs: number): NonNullable<Breaker['aside']> {
  const { aside, failedReplay } = taken.breaker;
  const failures = (aside?.failures ?? 0) + 1;
  const place = failures - MANY_FAILURES;
  const delayMs = DELAYS_MS[Math.min(place, DELAYS_MS.length) - 1] ?? 0;
  const hasMore = (failedReplay || isLate(taken)) && place >= DELAYS_MS.length;
  return { failures, nextAttemptMs: nowMs + (hasMore ? delayMs * LATE : delayMs) };
}

/** Whether the endpoint took something else since this lane failed last, unless its owner has changed or resumed it. */
export const wasOtherTaken = ({ lane, taken: { breaker } }: { lane: TellLane; taken: TakenWebhook }): boolean =>
  !breaker.failures && !(lane === 'replay' && breaker.failedReplay);
