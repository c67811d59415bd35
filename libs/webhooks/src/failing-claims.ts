import type { TakenWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import type { LaneClaim, LaneState } from '@gateway/store/webhooks/delivering/lanes';
import type { Webhook } from '@gateway/store/webhooks/webhooks';

/** A failing endpoint gets so many requests that its clock does not ask for, until something is taken: with these a day is 110 at most. */
export const MOST_OFF_CLOCK = 7;
/** Then something else is tried. */
export const MANY_FAILURES = 3;
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

export const offClockOf = ({ lanes }: TakenWebhook): number =>
  Object.values(lanes)
    .flatMap(claimsIn)
    .reduce((total, { offClock = 0 }) => total + offClock, 0);
