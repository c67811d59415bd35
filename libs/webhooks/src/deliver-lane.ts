import { isOver, MANY_FAILURES } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { claimDelivery, settleDelivery } from '@gateway/store/webhooks/delivering/deliveries';
import type { LaneClaim, LaneRange, TellLane } from '@gateway/store/webhooks/delivering/lanes';
import { failuresOf, isStuck, manyFor } from './failing-claims.js';
import type { Told } from './feed.js';
import { behindOthers, endCatchUp, passingAway, postpone } from './held-parts.js';
import {
  endsBefore,
  endsOtherwise,
  findNext,
  isTogether,
  type LaneWork,
  leaveOut,
  leavingOut,
  moveTo,
  namesOf,
  type Part,
  parkAll,
  parkRest,
  partOf,
  placeOf,
  postIn,
  putAsideAnew,
  sourceOf,
  whatFollows,
} from './lane-work.js';
import { type PostedTold, wasAllTaken } from './post-told.js';
import { afterTaken, firstPauses, isGivenUp, outcomeIn } from './replay-failures.js';
import { grown, halved } from './request-size.js';
import {
  countedAnew,
  EARLY_SPENT,
  goOn,
  goOnWithin,
  mayDoubt,
  type Next,
  passRefused,
  passStuck,
} from './stuck-claims.js';
import { type LaneOutcome, pausing, TOO_LARGE, type Work, wasRefused, wasSilent } from './work.js';

/** Where several requests are made at a time, each place has so many until all are settled. */
const IN_TURN = 5;
/** Too many requests, and unavailable. */
const BUSY = [429, 503];

/** A lane posts what comes next in the log, until it is taken; what fails often is put aside. */
export async function deliverLane(given: Work, lane: TellLane): Promise<LaneOutcome> {
  if (lane === 'replay' && !given.taken.replay) return 'quiet';
  given.failed.delete(lane);
  return passingAway(given, lane, deliverIn);
}

async function deliverIn(work: LaneWork): Promise<LaneOutcome> {
  const { claim } = work.taken.lanes[work.lane];
  if (!isOver(claim?.notBeforeMs, work.deps.clock.nowMs())) return 'later';
  if (claim?.notBeforeMs !== undefined && !(await claimAgain(work, claim))) return 'taken';
  if (claim && endsOtherwise(work, claim)) return (await dropClaim(work)) ? goOnFrom(work) : 'taken';
  if (claim && !(await putAsideAnew(work, claim))) return 'taken';
  return goOnFrom(work);
}

async function goOnFrom(work: LaneWork): Promise<LaneOutcome> {
  const { claim } = work.taken.lanes[work.lane];
  if (claim && isStuck(work, claim)) {
    const passed = await passStuck(work, claim);
    if (passed !== 'quiet') return passed;
  }
  if (claim && isGivenUp(work, failuresOf(claim))) return endReplay(work);
  const claimed = work.taken.lanes[work.lane].claim ?? (await claimNext(work));
  return typeof claimed === 'string' ? claimed : deliverClaim(work, claimed);
}

async function claimNext(work: LaneWork): Promise<LaneClaim | LaneOutcome> {
  const { deps, webhook, taken, lane } = work;
  const state = taken.lanes[lane];
  const { concurrency } = webhook.settings;
  const alone = concurrency === 1 ? 1 : concurrency * IN_TURN;
  const place = placeOf(work, state.cursor);
  const range = { after: state.cursor, most: state.most ?? WEBHOOK_LIMITS.maxChanges, alone };
  const found = await findNext(work, range, (to) => deps.posted.cut(place, to));
  if (found === 'later') return found;
  if (found === undefined) {
    if (state.catchesUp) return endCatchUp(work, state);
    if (lane !== 'replay') return 'quiet';
    return state.held ? postpone(work) : endReplay(work);
  }
  const { to, told } = found;
  if (told.length === 0) return passOver(work, to);
  const aside = taken.hasParked ? await whatFollows(work, told) : [];
  const without = namesOf(work, aside);
  const { most } = state;
  const claim: LaneClaim = {
    ...{ to, refusals: 0, ...(most && { most }), ...leavingOut(work, without) },
    ...(!isTogether(told) && mayDoubt(work) && { isDoubted: true as const }),
  };
  const write = { lane, state: { ...state, claim }, changes: parkAll(work, aside), nowMs: deps.clock.nowMs() };
  if (!(await claimDelivery(deps.store, taken, write))) return 'taken';
  deps.posted.note(place, to);
  return claim;
}

/** What is for others needs no claim. */
async function passOver(work: LaneWork, to: string): Promise<'more' | 'taken'> {
  const { deps, taken, lane } = work;
  const { claim: _, ...state } = taken.lanes[lane];
  const write = { lane, state: moveTo(work, state, to), nowMs: deps.clock.nowMs() };
  return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
}

/** Its time may have come while another request was under way, and the endpoint be changed since. */
function claimAgain({ deps, taken, lane }: LaneWork, claim: LaneClaim): Promise<boolean> {
  const state = { ...taken.lanes[lane], claim };
  return claimDelivery(deps.store, taken, { lane, state, nowMs: deps.clock.nowMs() });
}

/** Written before it is posted again: without this mark its recipients would be told one by one if it is put aside, under other ids. */
function asPosted(claim: LaneClaim, told: readonly Told[]): LaneClaim {
  if (claim.mayBeTaken || claim.refusals < manyFor(claim) || !isTogether(told)) return claim;
  return { ...claim, mayBeTaken: true };
}

/** What its endpoint asks for now is claimed anew; what it was told already may come again, under the same ids of changes. */
function dropClaim({ deps, taken, lane }: LaneWork): Promise<boolean> {
  const { claim: _, ...state } = taken.lanes[lane];
  return claimDelivery(deps.store, taken, { lane, state, nowMs: deps.clock.nowMs() });
}

async function endReplay({ deps, taken }: LaneWork): Promise<'more' | 'taken'> {
  const write = { lane: 'replay' as const, state: undefined, nowMs: deps.clock.nowMs() };
  return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
}

async function deliverClaim(work: LaneWork, claimed: LaneClaim): Promise<LaneOutcome> {
  const { deps, webhook, taken, lane, source } = work;
  const { cursor, asked } = taken.lanes[lane];
  const read = await deps.feed.read(webhook, source, { after: cursor, to: claimed.to, asked });
  const all = leaveOut(work, { told: read, without: claimed.without });
  const told = partOf(work, claimed, all);
  if (told.length === 0) {
    const write = { lane, ...(await goOn(work, claimed)), nowMs: deps.clock.nowMs() };
    return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
  }
  const claim = asPosted(claimed, told);
  if (claim !== claimed && !(await claimAgain(work, claim))) return 'taken';
  const answered = await postIn(work, told);
  if (!answered) return 'taken';
  const { nowMs } = answered;
  const posted = new Set(told);
  const left = all.filter((each) => !posted.has(each));
  const isOneRequest = told.length === 1 || isTogether(told);
  const range = { ...sourceOf(work), after: cursor, ...rangeOf(work, claim, { told, left }) };
  const attempt = { ...answered.attempt, ...(isOneRequest && { range }) };
  if (isTooLarge(answered, told, claim.most)) return halve(work, claim, told, { ...answered, attempt });
  const isPassed = mayPass(work, claim, answered);
  const next = isPassed
    ? passRefused(work, claim, { ...answered, left })
    : await nextOf(work, claim, { told, left, answered });
  const outcome = isPassed ? afterTaken(work, answered) : outcomeIn(work, answered);
  if (!(await settleDelivery(deps.store, taken, { lane, ...next, nowMs }, { attempt, outcome }))) return 'taken';
  const { status } = answered.outcome;
  // Of a doubted one something else may be tried at once.
  return status === 'active' || (claim.isDoubted && status === 'failing') ? 'more' : 'waiting';
}

interface AnsweredPart extends Part {
  answered: PostedTold;
}

async function nextOf(work: LaneWork, claim: LaneClaim, part: AnsweredPart): Promise<Next> {
  const { told, left, answered } = part;
  const { takenTold } = answered;
  if (wasAllTaken(answered, told)) {
    const next = left.length > 0 ? goOnWithin(work, claim, part) : await goOn(work, claim);
    return withSize(next, isTogether(told) ? told.length : 0);
  }
  const state = { ...work.taken.lanes[work.lane], claim: afterFailure(work, claim, answered) };
  return { state: behindOthers(work, state), changes: parkRest(work, takenTold, left) };
}

/** Some of a doubted claim was refused, and some was taken: not by an endpoint that has too much to do. */
function mayPass({ webhook }: LaneWork, { isDoubted }: LaneClaim, answered: PostedTold): boolean {
  const { takenTold, retryAfterMs, attempt } = answered;
  if (!isDoubted || webhook.settings.order === 'strict') return false;
  const isBusy = retryAfterMs || (attempt.status !== null && BUSY.includes(attempt.status));
  return wasRefused(answered) && takenTold.length > 0 && !isBusy;
}

/** Of one request, as it is posted again when it is replayed. */
function rangeOf(work: LaneWork, { to, without = [] }: LaneClaim, part: Part): LaneRange {
  const { told, left } = part;
  const isStart = endsBefore(part);
  const others = isStart ? without : [...without, ...namesOf(work, left)];
  return { to: isStart && left.length > 0 ? told.at(-1)!.to : to, ...(others.length > 0 && { without: others }) };
}

/** What one step has changed of one person is not told in parts where it is told alone as well. */
function isTooLarge({ attempt }: PostedTold, told: readonly Told[], most: number = WEBHOOK_LIMITS.maxChanges): boolean {
  return attempt.status === TOO_LARGE && told.length > 1 && told.length <= most && isTogether(told);
}

/**
 * That is no failure, and not the end of those before: a proxy says so whose server is away. A claim that says what else becomes of what
 * it leaves out, or of what comes behind it, stays, and is told in parts.
 */
async function halve(
  work: LaneWork,
  { to, without = [], probe, offClock, testedAtMs }: LaneClaim,
  told: readonly Told[],
  answered: PostedTold,
): Promise<LaneOutcome> {
  const { attempt, nowMs } = answered;
  const pause = pausing(answered);
  const { deps, taken, lane } = work;
  const size = halved(taken.lanes[lane], told.length);
  const isKept = without.length > 0 || probe || offClock || pause.notBeforeMs !== undefined;
  const given = {
    to,
    ...leavingOut(work, without),
    ...(probe && { probe }),
    ...(offClock && { offClock, testedAtMs }),
  };
  const kept = isKept && { ...given, most: size.most, refusals: 0, ...pause };
  const { claim: _, ...former } = taken.lanes[lane];
  const state = { ...former, ...(kept && { claim: kept }), ...size };
  return (await settleDelivery(deps.store, taken, { lane, state, nowMs }, { attempt })) ? 'more' : 'taken';
}

function withSize({ state, ...next }: Next, changes: number): Next {
  const { most: _most, growsAfter: _growsAfter, claim, ...rest } = state;
  const size = grown(state, changes);
  const inParts = ({ most: former, ...left }: LaneClaim): LaneClaim => ({
    ...left,
    ...(former && size.most && { most: size.most }),
  });
  return { ...next, state: { ...rest, ...(claim && { claim: inParts(claim) }), ...size } };
}

/** An endpoint that has another URL or other headers has passed another test: failures before say nothing of it. One that is resumed is as it was. */
function asTested({ webhook }: LaneWork, claim: LaneClaim): LaneClaim {
  if (claim.testedAtMs === webhook.verifiedAtMs) return claim;
  return { ...countedAnew(claim), testedAtMs: webhook.verifiedAtMs };
}

function afterFailure(work: LaneWork, before: LaneClaim, answered: PostedTold): LaneClaim {
  const { takenTold, beside } = answered;
  const given = asTested(work, before);
  const without = [...(given.without ?? []), ...namesOf(work, takenTold)];
  // Where another lane is stuck, this was tried in the place of that.
  const isProbe = work.isEarly || (failuresOf(given) === 0 && (work.taken.breaker.failures ?? 0) >= MANY_FAILURES);
  const claim = {
    ...given,
    ...leavingOut(work, without),
    ...(isProbe && { early: EARLY_SPENT }),
    // With seven that were under way when its endpoint began to fail there is nothing early any more.
    offClock: (given.offClock ?? 0) + (work.isEarly ? 1 : beside),
    failedAs: work.taken.revision,
  };
  const { notBeforeMs: _, sinceTurn: _sinceTurn, ...rest } = claim;
  const pause = (failures: number) => pausing(answered, firstPauses(work, failures, manyFor(given)));
  if (wasRefused(answered)) {
    const { mayBeTaken: _mayBeTaken, ...refused } = rest;
    return { ...refused, ...pause(rest.refusals + 1), refusals: rest.refusals + 1 };
  }
  if (!wasSilent(answered)) return claim;
  const silences = (rest.silences ?? 0) + 1;
  return { ...rest, ...pause(silences), silences };
}
