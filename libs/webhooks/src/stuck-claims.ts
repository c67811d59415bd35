import { compareCursors } from '@gateway/contracts/events/cursor';
import { isOver } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, type WebhookAttempt } from '@gateway/contracts/webhooks/webhook';
import { claimDelivery, settleDelivery, type TakenWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import type { LaneClaim, LaneRange, LaneState, Probe, TellLane } from '@gateway/store/webhooks/delivering/lanes';
import { findParkedKeys, type ParkedChange } from '@gateway/store/webhooks/delivering/parked/parked';
import {
  failuresOf,
  isFailing,
  isStuck,
  MOST_OFF_CLOCK,
  manyFor,
  offClockOf,
  wasOtherTaken,
} from './failing-claims.js';
import type { Told } from './feed.js';
import { EARLY_PROBES, findProbe, mustStayWhole } from './find-probe.js';
import { behindOthers, passingAway } from './held-parts.js';
import {
  asideKeyOf,
  endsBefore,
  endsOtherwise,
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
  toldBy,
} from './lane-work.js';
import { wholeOf, withLead } from './parked/parked-wholes.js';
import { type PostedTold, wasAllTaken } from './post-told.js';
import { outcomeIn, pauseAfterProbe } from './replay-failures.js';
import { halved } from './request-size.js';
import { type LaneOutcome, pausing, TOO_LARGE, type Work, wasRefused } from './work.js';

/**
 * What failed three times may be what no server likes, or the server may be out of order: then what comes behind it is posted, a probe. If
 * that, or anything else, is taken, the claim is put aside (parked), with all that follows for its recipients, and the lane goes on.
 * A request that had no answer may have been taken all the same: it is told again as it was, or not at all; never in parts, which
 * would have other ids.
 */

/** So many less where it was itself tried early, in the place of another one. */
export const EARLY_SPENT = 2;
/** After something was put aside. */
const DOUBT_MS = 10 * 60_000;

/** The first probes wait for no clock but one that the endpoint asked for: they are not about it. */
export const mayProbeEarly = ({ claim }: LaneState, nowMs: number): boolean =>
  claim !== undefined &&
  isFailing(claim) &&
  (claim.early ?? 0) < EARLY_PROBES &&
  !claim.probe &&
  isOver(claim.notBeforeMs, nowMs);

export const mayPostOffClock = (taken: TakenWebhook): boolean => offClockOf(taken) < MOST_OFF_CLOCK;

/** As if it had never failed. */
export function countedAnew(claim: LaneClaim): LaneClaim {
  const { silences, mayBeTaken, probes, sinceTurn, early, offClock, tried, ...rest } = claim;
  return { ...rest, refusals: 0 };
}

export async function probeEarly(given: Work, lane: TellLane): Promise<LaneOutcome> {
  return passingAway({ ...given, skipsRefused: true }, lane, probeIfStuck);
}

async function probeIfStuck(work: LaneWork): Promise<LaneOutcome> {
  const { lane } = work;
  const { claim, ...state } = work.taken.lanes[lane];
  if (!claim || !isStuck(work, claim) || !mayProbeEarly({ ...state, claim }, work.deps.clock.nowMs())) return 'quiet';
  if (endsOtherwise(work, claim)) return 'quiet';
  if (!(await putAsideAnew(work, claim))) return 'taken';
  return probe(work, work.taken.lanes[lane].claim!, { isEarly: true, isTurn: false });
}

/** `quiet`: it is to be posted again itself. In turn with a probe, so that neither waits for long when the endpoint is back. */
export async function passStuck(work: LaneWork, claim: LaneClaim): Promise<LaneOutcome> {
  const { lanes, breaker, revision } = work.taken;
  // Where its owner has changed the endpoint, or resumed it, nothing is known: it is posted again as it was.
  const isProven = wasOtherTaken(work);
  if (isProven && claim.failedAs === revision) return park(work, claim);
  // It may have been taken: as long as that is not known, not all of the claim is posted, which would tell it under another id.
  if (claim.probe && 'only' in claim.probe) return probe(work, claim, { isEarly: false, isTurn: true });
  if (isProven) return 'quiet';
  // A failing endpoint gets its early probes before its time has come.
  const isEarly = !breaker.failures && mayProbeEarly(lanes[work.lane], work.deps.clock.nowMs());
  const { probes = 0, sinceTurn = 0 } = claim;
  // It may be what would be taken: so it has its turn as soon as the time of the endpoint has come, and then after two probes at most.
  const isFirst = failuresOf(claim) === manyFor(claim);
  const isTurn = probes < failuresOf(claim) && !(isFirst && sinceTurn > 0);
  const mayGoOn = !isFirst && sinceTurn < 2;
  return isTurn || (mayGoOn && !claim.probe) ? probe(work, claim, { isEarly, isTurn }) : 'quiet';
}

/** A lane, and what is put aside from it. */
export interface Next {
  state: LaneState;
  changes: ParkedChange[];
}

interface Trial {
  claim: LaneClaim;
  probe: Probe;
  isEarly: boolean;
}

/** `quiet`: there is nothing to try it with. */
async function probe(
  work: LaneWork,
  claim: LaneClaim,
  { isEarly, isTurn }: { isEarly: boolean; isTurn: boolean },
): Promise<LaneOutcome> {
  const { deps, taken, lane } = work;
  const found = claim.probe ?? (await findInParts(work, claim, { isEarly, again: isTurn && !isEarly }));
  if (!found) return 'quiet';
  const state = { ...taken.lanes[lane], claim: { ...claim, probe: found } };
  const nowMs = deps.clock.nowMs();
  if (!claim.probe && !(await claimDelivery(deps.store, taken, { lane, state, nowMs }))) return 'taken';
  if ('to' in found && found.without?.length === 0) deps.posted.note(placeOf(work, claim.to), found.to);
  return postProbe(work, { claim: state.claim, probe: found, isEarly });
}

/** What was too large is told in parts here, too: what is left of it is put aside where the probe is taken. */
async function findInParts(work: LaneWork, claim: LaneClaim, how: { isEarly: boolean; again: boolean }) {
  const { most } = work.taken.lanes[work.lane];
  const found = await findProbe(work, claim, how);
  return found && 'to' in found && most !== undefined ? { ...found, most } : found;
}

async function postProbe(work: LaneWork, trial: Trial): Promise<LaneOutcome> {
  const { deps, taken, lane } = work;
  const { told: all, failed, passed } = await splitBy(work, trial);
  const told = partOf(work, 'to' in trial.probe ? trial.probe : {}, all);
  if (told.length === 0) {
    const write = { lane, state: unproven(work, trial), nowMs: deps.clock.nowMs() };
    return (await claimDelivery(deps.store, taken, write)) ? 'quiet' : 'taken';
  }
  const answered = await postIn(work, told);
  if (!answered) return 'taken';
  const isPart = told.length < all.length;
  const split = { told, failed, isPart, passed: [...passed, ...all.filter((each) => !told.includes(each))] };
  return settleProbe(work, trial, { split, answered });
}

async function settleProbe(
  work: LaneWork,
  trial: Trial,
  { split, answered }: { split: Split; answered: PostedTold },
): Promise<LaneOutcome> {
  const { deps, taken, lane } = work;
  const { claim, probe, isEarly } = trial;
  const isTaken = wasAllTaken(answered, split.told);
  // Of one that failed it would say whom all requests behind the claim are about, in each attempt of an outage.
  const range = 'to' in probe && isTaken && !split.isPart && { ...rangeOf(probe), ...sourceOf(work), after: claim.to };
  const attempt = { ...answered.attempt, ...(range && { range }) };
  const isRefused = wasRefused(answered);
  const next = isTaken
    ? await proven(work, trial, split)
    : answered.takenTold.length > 0
      ? await proven(work, trial, withLeft(split, answered))
      : {
          state: behindOthers(
            work,
            paused(
              !isRefused && isTogether(split.told)
                ? open(work, trial)
                : smaller(unproven(work, trial), trial, split, attempt),
              pausing(answered, pauseAfterProbe(work, { failures: failuresOf(claim), isEarly })),
            ),
          ),
        };
  const outcome = outcomeIn(work, answered, isEarly || undefined);
  const write = { lane, ...next, nowMs: answered.nowMs };
  if (!(await settleDelivery(deps.store, taken, write, { attempt, outcome }))) return 'taken';
  return isTaken ? 'more' : 'waiting';
}

/** It was one request when it was chosen, and is several since other types are asked for: what is not taken is put aside. */
function withLeft({ told, failed, passed }: Split, { takenTold }: PostedTold): Split {
  return { told: takenTold, failed, passed: [...told.filter((each) => !takenTold.includes(each)), ...passed] };
}

const rangeOf = ({ to, without }: LaneRange): LaneRange => ({ to, ...(without && { without }) });

async function proven(work: LaneWork, { claim, probe }: Trial, split: Split): Promise<Next> {
  const { claim: _, ...state } = work.taken.lanes[work.lane];
  const to = 'to' in probe ? probe.to : claim.to;
  const doubting = doubtOthers(work, split.failed);
  return { state: { ...moveTo(work, state, to), ...doubting }, changes: await parkOthers(work, claim, split) };
}

/** What may have been taken comes again as it was; an event that is told alone always does. */
function open({ taken, lane }: LaneWork, { claim, probe, isEarly }: Trial) {
  const { probes = 0, early = 0, offClock = 0, sinceTurn = 0 } = claim;
  const counted = isEarly
    ? { early: early + 1, offClock: offClock + 1, probes: probes + 1 }
    : { probes: Math.max(probes + 1, failuresOf(claim)) };
  return {
    ...taken.lanes[lane],
    claim: { ...claim, ...counted, sinceTurn: sinceTurn + 1, ...('to' in probe && { tried: furthest(claim, probe) }) },
  };
}

const furthest = ({ tried }: LaneClaim, { to }: LaneRange): string =>
  tried !== undefined && compareCursors(tried, to) > 0 ? tried : to;

function unproven(work: LaneWork, trial: Trial): LaneState {
  const { claim, ...state } = open(work, trial);
  const { probe: _, ...unprobed } = claim;
  return { ...state, claim: unprobed };
}

function paused({ claim, ...state }: LaneState, pause: Pick<LaneClaim, 'notBeforeMs'>): LaneState {
  return { ...state, ...(claim && { claim: { ...claim, ...pause } }) };
}

/** The next one may be taken where this was too large: it was not tried, and that was no turn. */
function smaller(
  state: LaneState,
  { claim: { early = 0, offClock = 0, tried }, probe, isEarly }: Trial,
  { told }: Split,
  { status }: WebhookAttempt,
): LaneState {
  const most = ('most' in probe && probe.most) || WEBHOOK_LIMITS.maxChanges;
  // One that is about one person may be more, and is never told in parts: it would be tried without end.
  const isTooLarge = status === TOO_LARGE && told.length > 1 && told.length <= most && isTogether(told);
  if (!isTooLarge || !state.claim) return state;
  const { tried: _, ...counted } = state.claim;
  const claim = {
    ...counted,
    sinceTurn: (counted.sinceTurn ?? 1) - 1,
    ...(tried && { tried }),
    ...(isEarly && { early, offClock }),
  };
  return { ...state, claim, ...halved(state, told.length) };
}

interface Split {
  /** What is posted as a probe. */
  told: Told[];
  /** Not all that comes there. */
  isPart?: boolean;
  /** What else is claimed: it is put aside if that is taken. */
  failed: Told[];
  /** And so is this, which is among what comes behind the claim. */
  passed: Told[];
}

async function splitBy(work: LaneWork, { claim, probe }: Pick<Trial, 'claim' | 'probe'>): Promise<Split> {
  const { deps, webhook, source } = work;
  const failed = await toldBy(work, claim);
  if ('only' in probe) {
    const isOnly = (each: Told) => deps.feed.keyOf(source, each) === probe.only;
    return { told: failed.filter(isOnly), failed: failed.filter((each) => !isOnly(each)), passed: [] };
  }
  const { asked } = work.taken.lanes[work.lane];
  const read = await deps.feed.read(webhook, source, { after: claim.to, to: probe.to, asked });
  const told = leaveOut(work, { told: read, without: probe.without });
  return { told, failed, passed: read.filter((each) => !told.includes(each)) };
}

async function parkOthers(
  work: LaneWork,
  claim: LaneClaim,
  { failed, passed }: Omit<Split, 'told'>,
): Promise<ParkedChange[]> {
  return [...parkAll(work, failed), ...(await keepWhole(work, claim, failed)), ...parkAll(work, passed)];
}

/** Where a handler is broken for one kind of event, each would take half a minute: what is told alone has the same id wherever it is told. */
export const mayDoubt = ({ deps, webhook, taken, lane }: LaneWork): boolean =>
  webhook.settings.order !== 'strict' && !isOver(taken.lanes[lane].doubtsUntilMs, deps.clock.nowMs());

const doubtOthers = ({ deps }: LaneWork, failed: readonly Told[]): Pick<LaneState, 'doubtsUntilMs'> =>
  isTogether(failed) ? {} : { doubtsUntilMs: deps.clock.nowMs() + DOUBT_MS };

/** The claim is put aside, and the lane goes on behind it. What was posted as a probe may have been taken, and comes again as it was. */
async function park(work: LaneWork, claim: LaneClaim): Promise<LaneOutcome> {
  const { deps, taken, lane } = work;
  const { probe } = claim;
  const split = probe ? await splitBy(work, { claim, probe }) : { failed: await toldBy(work, claim), passed: [] };
  const changes = await parkOthers(work, claim, split);
  const { claim: _, ...former } = taken.lanes[lane];
  const without = [...(claim.without ?? []), ...namesOf(work, split.failed)];
  const state: LaneState =
    probe && 'only' in probe
      ? { ...former, claim: { to: claim.to, ...leavingOut(work, without), refusals: 0 } }
      : behind(work, former, claim);
  const write = { lane, state: { ...state, ...doubtOthers(work, split.failed) }, changes, nowMs: deps.clock.nowMs() };
  return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
}

/**
 * When the claim was taken. In strict order nothing may pass what a probe left out when the order was another one: all behind the claim is
 * told anew, so that what had no answer may come again under another id. A probe that left nothing out comes again as it was.
 */
export async function goOn(work: LaneWork, claim: LaneClaim): Promise<Next> {
  const { claim: _, ...former } = work.taken.lanes[work.lane];
  const { to, probe } = claim;
  const passed = probe ? (await splitBy(work, { claim, probe })).passed : [];
  if (passed.length > 0 && work.webhook.settings.order === 'strict')
    return { state: moveTo(work, former, to), changes: [] };
  return { state: behind(work, former, claim), changes: parkAll(work, passed) };
}

/**
 * When others of a doubted claim were taken: what was refused is put aside, and what was not tried is next. @param left of the claim, where it is
 * one request no more, as its endpoint asks for other types: of those whom the claim leaves out from now on that is put aside as well.
 */
export function passRefused(
  work: LaneWork,
  claim: LaneClaim,
  { takenTold, refusedTold, left }: PostedTold & Pick<Part, 'left'>,
): Next {
  const { notBeforeMs: _, ...rest } = countedAnew(claim);
  const passed = [...takenTold, ...refusedTold];
  const without = [...(claim.without ?? []), ...namesOf(work, passed)];
  const state = {
    ...work.taken.lanes[work.lane],
    claim: { ...rest, ...leavingOut(work, without) },
    ...doubtOthers(work, refusedTold),
  };
  return { state, changes: [...parkAll(work, refusedTold), ...parkRest(work, passed, left)] };
}

/** When only a part of it was. */
export function goOnWithin(work: LaneWork, claim: LaneClaim, part: Part): Next {
  const state = work.taken.lanes[work.lane];
  const { notBeforeMs: _, ...rest } = countedAnew(claim);
  if (endsBefore(part)) return { state: moveTo(work, { ...state, claim: rest }, part.told.at(-1)!.to), changes: [] };
  const without = [...(claim.without ?? []), ...namesOf(work, part.told)];
  return {
    state: { ...state, claim: { ...rest, ...leavingOut(work, without) } },
    changes: parkRest(work, part.told, part.left),
  };
}

function behind(work: LaneWork, former: LaneState, { to, probe }: LaneClaim): LaneState {
  if (!probe || !('to' in probe)) return moveTo(work, former, to);
  return { ...moveTo(work, former, to), claim: { ...probe, ...leavingOut(work, probe.without ?? []), refusals: 0 } };
}

/** Of those for whom something is put aside already it comes behind that. */
async function keepWhole(work: LaneWork, claim: LaneClaim, told: Told[]): Promise<ParkedChange[]> {
  const { deps, webhook, taken } = work;
  if (!mustStayWhole(claim) || !isTogether(told)) return [];
  const posted = partOf(work, claim, told);
  const keyed = posted.map((each) => asideKeyOf(work, each));
  const parked = await findParkedKeys(deps.store, taken, [...new Set(keyed)]);
  const { id } = await deps.feed.pack(webhook, posted);
  const clock = { nextAttemptMs: deps.clock.nowMs() };
  const wholes = wholeOf({ id, ...(claim.mayBeTaken && { wasRefused: true }) }, keyed).filter(
    ([key]) => !parked.has(key),
  );
  const clocks = withLead(wholes.map(([key, whole]) => [key, { ...clock, whole }]));
  return clocks.map(([key, clock]) => ({ what: 'wait', key, clock }));
}
