import { entryMs } from '@gateway/contracts/events/cursor';
import { EVENT_LOG } from '@gateway/contracts/events/entry';
import { hasShard } from '@gateway/contracts/shards';
import {
  type BreakerOutcome,
  DELAYS_MS,
  isOver,
  MANY_FAILURES,
  nextBreaker,
  waitsUntilMs,
} from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, wasTaken } from '@gateway/contracts/webhooks/webhook';
import { ShardsAwayError } from '@gateway/store/core/away/away-shards';
import { claimDelivery, isAsTaken, settleDelivery } from '@gateway/store/webhooks/delivering/deliveries';
import {
  endLongWaits,
  findWhole,
  type Parked,
  type ParkedChange,
  type ParkedClaim,
  type ParkedClock,
  type ParkedEvent,
  type ParkedGap,
  type ParkedState,
  readDue,
  readParked,
} from '@gateway/store/webhooks/delivering/parked/parked';
import { HALVINGS, nextAside } from '../failing-claims.js';
import type { Told, ToldAgain } from '../feed.js';
import { isTogether, pickFar } from '../lane-work.js';
import { requestBytes } from '../log/held-texts.js';
import { nameOf } from '../log/told.js';
import {
  type Answered,
  confirmClaim,
  keeperOf,
  type LaneOutcome,
  pausing,
  post,
  type Work,
  wasRefused,
  wasSilent,
} from '../work.js';
import { wholeOf, withLead } from './parked-wholes.js';

/**
 * What was put aside is posted in requests of its own: all that is due, and when that is refused half of it, until one recipient is
 * left whose event is refused alone. That event has a clock of its own from then on, and what follows for its recipient waits behind
 * it; all others have been told. After 72 hours it is left alone until it is replayed, or gone from the log: then it is lost, and what
 * follows is told. What had no answer three times is not halved, as it may have been taken: it has a clock of its own as a whole. So has
 * that something is lost, once that was refused: nothing waits behind it.
 */
export async function deliverParked(work: Work): Promise<LaneOutcome> {
  const { deps, taken } = work;
  const { parked: state, hasParked, lost } = taken;
  if (!hasParked && lost === 0 && !state.claim) return 'quiet';
  const nowMs = deps.clock.nowMs();
  if (![state.notBeforeMs, taken.breaker.aside?.nextAttemptMs].every((untilMs) => isOver(untilMs, nowMs)))
    return 'later';
  const claim = state.claim ?? (await chooseNext(work, nowMs));
  if (!claim) return 'later';
  const claimed: ParkedState = { ...state, claim };
  if (!state.claim && !(await claimDelivery(deps.store, taken, { lane: 'parked', state: claimed, nowMs })))
    return 'taken';
  await confirmClaim(work);
  if ('lost' in claim) return deliverLost(work, claim);
  return deliverKeys(work, claim).catch((thrown: unknown) => {
    // What may have been posted comes again as it was, before anything else.
    if (!(thrown instanceof ShardsAwayError) || state.claim) throw thrown;
    return postponeAway(work, claim, thrown);
  });
}

type KeysClaim = Extract<ParkedClaim, { keys: unknown }>;
type LostClaim = Extract<ParkedClaim, { lost: number }>;

/** One that was refused alone is posted alone; of others those that can be told together. */
async function chooseNext(work: Work, nowMs: number): Promise<ParkedClaim | undefined> {
  const { deps, taken } = work;
  const gap = gapOf(work);
  if (taken.lost > 0 && !gap) return { lost: taken.lost, atMs: nowMs };
  await endWaits(work, nowMs);
  const [first, ...others] = await findDue(work, nowMs);
  // In turn: where all that is put aside waits for one clock, both may be due each time.
  const isGapNext = gap && isOver(gap.nextAttemptMs, nowMs) && gap.nextAttemptMs <= dueSinceMs(first);
  if (isGapNext) return { lost: gap.lost, atMs: gap.atMs };
  if (!first) return undefined;
  // An event that is told alone is all of its request: no other is looked for.
  if (first.events[0]?.device === undefined) return { keys: [[first.key, 1]] };
  if (first.clock.whole) {
    const all = await findWhole(deps.store, taken, first.clock.whole);
    return { keys: all.map(({ key, clock }) => [key, clock.whole!.places.length]) };
  }
  if (first.clock.failures) return { keys: [[first.key, 1]] };
  const keys: [string, number][] = [];
  let changes = 0;
  for (const { key, clock, events } of [first, ...others]) {
    const count = countTogether(events, WEBHOOK_LIMITS.maxChanges);
    if (clock.failures || clock.whole || count === 0) continue;
    if (changes + count > WEBHOOK_LIMITS.maxChanges) break;
    changes += count;
    keys.push([key, count]);
  }
  return { keys };
}

/** After many refusals in a row not the oldest, but one far from the former: what is put aside with them may be such that others are taken. */
async function findDue({ deps, taken }: Work, nowMs: number): Promise<Parked[]> {
  const { maxChanges } = WEBHOOK_LIMITS;
  const most = Math.min(taken.parked.most ?? maxChanges, maxChanges);
  if (!isMany(taken.parked)) return readDue(deps.store, taken, { nowMs, most });
  const due = await readDue(deps.store, taken, { nowMs, most: maxChanges });
  const untried = due.filter(({ clock }) => !clock.failures && !clock.whole);
  if (untried.length === 0) return due.slice(0, most);
  const place = untried.indexOf(pickFar(untried, taken.parked.refusals!));
  return [...untried.slice(place), ...untried.slice(0, place)].slice(0, most);
}

/** `undefined` also for one that the version before has told meanwhile. */
const gapOf = ({ taken: { parked, lost } }: Work): ParkedGap | undefined =>
  parked.gap && parked.gap.lost <= lost ? parked.gap : undefined;

/** What has no clock is due already. */
const dueSinceMs = (first: Parked | undefined): number => (first ? (first.clock.nextAttemptMs ?? 0) : Infinity);

/** So often it is looked whether something waits by a clock that was set back: another process may have written that down. */
const LOOK_AT_WAITS_MS = 10 * 60_000;

async function endWaits({ deps: { store, known }, taken }: Work, nowMs: number): Promise<void> {
  const sinceMs = nowMs - (known.sawWaitsMs ?? Number.NEGATIVE_INFINITY);
  if (sinceMs >= 0 && sinceMs < LOOK_AT_WAITS_MS) return;
  await endLongWaits(store, taken, { nowMs, longestMs: waitsUntilMs(nowMs) });
  known.sawWaitsMs = nowMs;
}

/** How many of the first events can be told together. */
function countTogether(events: readonly ParkedEvent[], most: number): number {
  const ends = events.findIndex(({ device }) => device === undefined);
  return Math.min(ends === -1 ? events.length : ends, most);
}

/** What is posted of each key. The oldest may have gone before that was written down, when there was no room for them. */
function countsOf({ keys }: KeysClaim, parked: readonly Parked[]): [key: string, count: number][] {
  const [only] = parked;
  if (keys.length === 1 && only?.events[0]?.device === undefined) return only ? [[only.key, 1]] : [];
  const most = new Map(keys);
  return parked.map(({ key, events }) => [key, countTogether(events, most.get(key)!)]);
}

async function deliverKeys(work: Work, claim: KeysClaim): Promise<LaneOutcome> {
  const { deps, webhook, taken } = work;
  const keys = claim.keys.map(([key]) => key);
  const parked = await readParked(deps.store, taken, keys, new Map(claim.keys));
  const posted = countsOf(claim, parked);
  const events = eventsOf(posted, parked);
  const read = await deps.feed.readAgain(
    webhook,
    events.map(({ event }) => event),
  );
  const all = events.map((chosen, i) => ({ chosen, told: read[i] }));
  const [first, second] = onceEach(all);
  if (second && !isTogether([first!])) return claimFirst(work, { chosen: events, told: first!, parked });
  const ordered = parked.some(({ clock }) => clock.whole) ? all : inLogOrder(all);
  const chosen = ordered.map((each) => each.chosen);
  const told = onceEach(ordered);
  const gone = read.filter((each) => each === 'gone').length;
  const done: ParkedChange[] = posted.map(([key, count]) => ({ what: 'drop', key, count }));
  if (gone > 0) done.push({ what: 'lose', count: gone });
  const { claim: _, ...state } = taken.parked;
  if (told.length === 0) {
    const write = { lane: 'parked' as const, state, changes: done, nowMs: deps.clock.nowMs() };
    return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
  }
  const share = { holder: keeperOf(taken), bytes: requestBytes(told) };
  const answered = await deps.memory.hold(share, async (hasWaited) => {
    if (hasWaited && !(await isAsTaken(deps.store, taken))) return undefined;
    const delivery = await deps.feed.pack(webhook, told);
    const answered = await post(work, delivery);
    if (delivery.lostContent && answered && wasTaken(answered.attempt)) deps.counts.countLostContent();
    return answered;
  });
  if (!answered) return 'taken';
  if (wasTaken(answered.attempt)) return settle(work, answered, { state: grown(work), changes: done });
  // An event that is told alone has no halves, which would come again under other ids.
  const mayDivide = wasRefused(answered) || (wasSilent(answered) && !isTogether(told));
  if (mayDivide && parked.every(({ clock: { whole } }) => !whole || whole.wasRefused)) {
    const [only, another] = parked;
    if (only && !another) return settle(work, answered, refusedAlone(work, answered, { only, state, told }));
    const halves = { most: Math.floor(parked.length / 2), ...counted(work) };
    return settle(work, answered, { state: halves, changes: endWhole(parked, answered.nowMs) });
  }
  // It was said of the endpoint.
  if (!wasRefused(answered) && !wasSilent(answered)) return settle(work, answered, { state: taken.parked });
  if (parked.some(({ clock }) => clock.failures || clock.whole)) {
    const clocks = parked.map(({ key, clock }) => [key, clock] as const);
    return settle(work, answered, { state, changes: waitAgain(work, answered, clocks, told), isAgain: true });
  }
  const silences = (claim.silences ?? 0) + 1;
  if (silences < MANY_FAILURES) {
    const notBeforeMs = answered.nowMs + DELAYS_MS[silences - 1]!;
    return settle(work, answered, { state: { ...taken.parked, claim: { ...claim, silences }, notBeforeMs } });
  }
  const wholes = wholeOf(
    { id: answered.attempt.webhookId },
    chosen.map(({ key }) => key),
  );
  const clocks = wholes.map(([key, whole]) => [key, { failures: silences - 1, whole }] as const);
  return settle(work, answered, { state, changes: waitAgain(work, answered, clocks, told) });
}

/** Until it is looked again whether a node is back. */
const AWAY_AGAIN_MS = 10_000;

/**
 * Nothing of the claim was posted: what of it lies on a node that is away waits for a while, and the others are chosen anew. What else is
 * due waits with it, as far as it lies there: each event that is told alone would be a look of its own.
 */
async function postponeAway(work: Work, claim: KeysClaim, away: ShardsAwayError): Promise<LaneOutcome> {
  const { deps, taken } = work;
  const nowMs = deps.clock.nowMs();
  const mostOf = new Map(claim.keys);
  const claimed = await readParked(deps.store, taken, [...mostOf.keys()], mostOf);
  const due = await readDue(deps.store, taken, { nowMs, most: WEBHOOK_LIMITS.maxChanges });
  const others = due.filter(({ key, clock }) => !clock.whole && !mostOf.has(key));
  const parked = [...claimed, ...others];
  const shards = await deps.feed.findShardsOf(parked.flatMap(({ events }) => events));
  const isAway = parked.map(({ events }) =>
    shards.splice(0, events.length).some((shard) => hasShard(away.shards, shard)),
  );
  if (!isAway.includes(true)) throw away;
  // One request has one clock.
  const waits = parked.filter(({ clock }, i) => isAway[i] || clock.whole);
  const changes = waits.map(({ key, clock }): ParkedChange => {
    return { what: 'wait', key, clock: { ...clock, nextAttemptMs: nowMs + AWAY_AGAIN_MS } };
  });
  const { claim: _, ...state } = taken.parked;
  return (await claimDelivery(deps.store, taken, { lane: 'parked', state, changes, nowMs })) ? 'more' : 'taken';
}

interface Chosen {
  key: string;
  event: ParkedEvent;
}

interface ReadAgain {
  chosen: Chosen;
  told: ToldAgain | 'gone' | undefined;
}

/** What was replayed twice may be put aside twice. */
const onceEach = (read: readonly ReadAgain[]): ToldAgain[] => [
  ...new Map(read.flatMap(({ told }) => (typeof told === 'object' ? [[nameOf(told.parks), told]] : []))).values(),
];

/** Replays of the same changes may have been put aside one behind the other, the later change first. */
const inLogOrder = (read: readonly ReadAgain[]): ReadAgain[] =>
  [...read].sort((one, other) => placeOf(one) - placeOf(other));

const placeOf = ({ told }: ReadAgain): number => (typeof told === 'object' ? told.place : 0);

/** Other types are asked for since: what was one request is several now, each for itself. */
async function claimFirst(
  { deps, taken }: Work,
  { chosen, told, parked }: { chosen: readonly Chosen[]; told: Told; parked: readonly Parked[] },
): Promise<LaneOutcome> {
  const { key } = chosen.find(({ event }) => event.id === told.parks.id)!;
  const { events } = parked.find((each) => each.key === key)!;
  const count = events.findIndex(({ id }) => id === told.parks.id) + 1;
  const nowMs = deps.clock.nowMs();
  const state: ParkedState = { ...taken.parked, claim: { keys: [[key, count]] }, most: 1 };
  const changes = endWhole(parked, nowMs);
  return (await claimDelivery(deps.store, taken, { lane: 'parked', state, changes, nowMs })) ? 'more' : 'taken';
}

/** What was one request may be told in parts from now on. */
const endWhole = (parked: readonly Parked[], nowMs: number): ParkedChange[] =>
  parked.filter(({ clock }) => clock.whole).map(({ key }) => ({ what: 'wait', key, clock: { nextAttemptMs: nowMs } }));

/** In the order in which they are told. */
function eventsOf(posted: readonly [key: string, count: number][], parked: readonly Parked[]) {
  const counts = new Map(posted);
  const events = parked.flatMap(({ key, clock, events }) =>
    events.slice(0, counts.get(key)).map((event, i) => ({ key, event, place: clock.whole?.places[i] ?? 0 })),
  );
  return events.sort((one, other) => one.place - other.place);
}

/** Until it takes something, of these or of others. Each may be refused alone, too, and what waits behind them is not late for that. */
const isMany = ({ refusals = 0 }: ParkedState): boolean => refusals > HALVINGS;

function counted(work: Work): Pick<ParkedState, 'refusals' | 'gap'> {
  const gap = gapOf(work);
  return { refusals: (work.taken.parked.refusals ?? 0) + 1, ...(gap && { gap }) };
}

function refusedAlone(
  work: Work,
  answered: Answered,
  { only, state, told }: { only: Parked; state: ParkedState; told: readonly Told[] },
): Settled {
  const {
    key,
    clock: { whole: _whole, ...clock },
  } = only;
  const changes = waitAgain(work, answered, [[key, clock]], told);
  return clock.failures ? { state, changes, isAgain: true } : { state: { most: 1, ...counted(work) }, changes };
}

/** Of what ended and is still in the log after its time. */
const LOOK_AGAIN_MS = 60 * 60_000;

/** What is one request has one clock. After 72 hours there is no next attempt: then it waits until the log has it no more. */
function waitAgain(
  { deps }: Work,
  answered: Answered,
  clocks: readonly (readonly [key: string, clock: ParkedClock])[],
  told: readonly Told[],
): ParkedChange[] {
  const { status } = answered.attempt;
  const { nowMs } = answered;
  const times = { nowMs, random: deps.random() };
  const goneMs = Math.max(...told.map(({ parks }) => entryMs(parks.entry))) + EVENT_LOG.keptMs;
  const endsMs = goneMs > nowMs ? goneMs : nowMs + LOOK_AGAIN_MS;
  return withLead(clocks).map(([key, clock]) => {
    const next = nextBreaker(clock, answered, times);
    const { nextAttemptMs: _, failures = 0, ...ended } = clock;
    const breaker = next.status === 'disabled' ? { ...ended, failures: failures + 1, endsMs } : next.breaker;
    const { whole } = clock;
    return {
      ...{ what: 'wait', key },
      clock: { ...breaker, ...(whole && { whole }), ...(status !== null && { lastStatus: status }) },
    };
  });
}

function grown(work: Work): ParkedState {
  const { most } = work.taken.parked;
  const gap = gapOf(work);
  const isLimited = most !== undefined && most * 2 < WEBHOOK_LIMITS.maxChanges;
  return { ...(isLimited && { most: most * 2 }), ...(gap && { gap }) };
}

async function deliverLost(work: Work, { lost, atMs }: LostClaim): Promise<LaneOutcome> {
  const answered = await post(work, work.deps.feed.packLost(work.webhook, { lost, atMs }));
  if (!answered) return 'taken';
  const { claim: _claim, gap: _gap, ...state } = work.taken.parked;
  if (wasTaken(answered.attempt)) {
    const { refusals: _refusals, notBeforeMs: _notBeforeMs, ...rest } = state;
    work.deps.counts.countGap('parked');
    return settle(work, answered, { state: rest, changes: [{ what: 'lose', count: -lost }] });
  }
  // It was said of the endpoint.
  if (!wasRefused(answered) && !wasSilent(answered)) return settle(work, answered, { state: work.taken.parked });
  const failures = (gapOf(work)?.failures ?? 0) + 1;
  const { notBeforeMs } = pausing(answered, DELAYS_MS[Math.min(failures, DELAYS_MS.length) - 1]);
  const gap = { lost, atMs, failures, nextAttemptMs: notBeforeMs! };
  return settle(work, answered, { state: { ...state, gap }, isAgain: failures > 1 });
}

interface Settled {
  state: ParkedState;
  changes?: ParkedChange[];
  /** It has a clock of its own. */
  isAgain?: boolean;
}

/** What fails here says nothing of the endpoint as a whole. */
async function settle(
  work: Work,
  answered: Answered,
  { state, changes = [], isAgain = false }: Settled,
): Promise<LaneOutcome> {
  const { deps, taken } = work;
  const { attempt, nowMs } = answered;
  const isOfThis = wasRefused(answered) || wasSilent(answered);
  const isOnClock = isAgain || isMany(state);
  const outcome = isOfThis ? failed(work, answered, { isOnClock }) : answered.outcome;
  // Others that are put aside wait as well where the endpoint asks for it.
  const { notBeforeMs = 0 } = isOfThis ? pausing(answered) : {};
  const paused = notBeforeMs > (state.notBeforeMs ?? 0) ? { ...state, notBeforeMs } : state;
  const write = { lane: 'parked' as const, state: paused, changes, nowMs };
  if (!(await settleDelivery(deps.store, taken, write, { attempt, outcome }))) return 'taken';
  return wasTaken(attempt) || isOfThis ? 'more' : 'waiting';
}

/** Each may have a clock, and the endpoint be down: as long as nothing is taken there is one for all of them. */
function failed({ taken }: Work, { nowMs }: Answered, { isOnClock }: { isOnClock: boolean }): BreakerOutcome {
  const { breaker } = taken;
  const counted = isOnClock ? { aside: nextAside(taken, nowMs) } : { halves: (breaker.halves ?? 0) + 1 };
  return { status: breaker.failures ? 'failing' : 'active', breaker: { ...breaker, ...counted } };
}
