import { compareCursors } from '@gateway/contracts/events/cursor';
import { DELAYS_MS } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, wasTaken } from '@gateway/contracts/webhooks/webhook';
import { claimDelivery, settleDelivery } from '@gateway/store/webhooks/delivering/deliveries';
import type { LaneClaim, LaneState, Probe, TellLane } from '@gateway/store/webhooks/delivering/lanes';
import { findParkedKeys, type ParkedChange } from '@gateway/store/webhooks/delivering/parked';
import type { FeedRange, Told } from './feed.js';
import { type PostedTold, postTold } from './post-told.js';
import { type LaneOutcome, type Work, wasRefused } from './work.js';

/**
 * A lane posts what comes next in the log, until it is taken. What was refused three times may be what no server likes, or the server may
 * be out of order: then what comes behind it is posted, a probe. If that, or anything else, is taken, the refused request is put aside
 * (parked), with all that follows for its recipients, and the lane goes on. A request without an answer says nothing of what was in it:
 * it is posted again, and nothing is put aside for it.
 */

/** Then something else is tried. */
const MANY_REFUSALS = 3;
/** Without waiting. */
const EARLY_PROBES = 3;
/** A probe is looked for in so many requests behind the one that is refused. */
const PROBE_REQUESTS = 20;
const TOO_LARGE = 413;
/** Where several requests are made at a time, each place has so many until all are settled. */
const IN_TURN = 5;

export async function deliverLane(given: Work, lane: TellLane): Promise<LaneOutcome> {
  if (lane === 'replay' && !given.taken.replay) return 'quiet';
  const work = inLane(given, lane);
  const { claim } = work.taken.lanes[lane];
  if ((claim?.notBeforeMs ?? 0) > work.deps.clock.nowMs()) return 'later';
  if (claim && isStuck(work, claim)) {
    // Something else was taken since.
    if (!work.taken.breaker.failures) return park(work, claim);
    const probed = wantsProbe(claim) ? await probe(work, claim) : 'quiet';
    if (probed !== 'quiet') return probed;
  }
  const claimed = claim ?? (await claimNext(work));
  return typeof claimed === 'string' ? claimed : deliverClaim(work, claimed);
}

/** The first probes wait for no clock: they are not about the endpoint. */
export const mayProbeEarly = ({ claim }: LaneState): boolean =>
  claim !== undefined && claim.refusals >= MANY_REFUSALS && (claim.probes ?? 0) < EARLY_PROBES && !claim.probe;

export function probeEarly(given: Work, lane: TellLane): Promise<LaneOutcome> {
  const work = inLane(given, lane);
  const state = work.taken.lanes[lane];
  if (!state.claim || !isStuck(work, state.claim) || !mayProbeEarly(state)) return Promise.resolve('quiet');
  return probe(work, state.claim, { isEarly: true });
}

/** One lane. `source`: how it is read; a request that is replayed as it was is read as then. */
interface LaneWork extends Work {
  lane: TellLane;
  source: TellLane;
}

function inLane(work: Work, lane: TellLane): LaneWork {
  const { replay } = work.taken;
  return { ...work, lane, source: lane === 'replay' && replay && 'request' in replay ? replay.request.lane : lane };
}

/** Where the next request ends; that of a replay at the end of it. */
async function findEnd({ deps, webhook, taken, lane, source }: LaneWork, range: FeedRange) {
  const found = await deps.feed.findEnd(webhook, source, range);
  if (lane !== 'replay' || !taken.replay) return found;
  const last = 'request' in taken.replay ? taken.replay.request.to : taken.replay.to;
  if (compareCursors(range.after, last) >= 0) return undefined;
  return typeof found !== 'object' || compareCursors(found.to, last) > 0 ? { to: last } : found;
}

const isStuck = ({ webhook }: Work, { refusals }: LaneClaim): boolean =>
  refusals >= MANY_REFUSALS && webhook.settings.order !== 'strict';

/** In turn with what is refused, so that neither waits for long when the endpoint is back. */
const wantsProbe = ({ probe, probes = 0, refusals }: LaneClaim): boolean => probe !== undefined || probes < refusals;

async function claimNext(work: LaneWork): Promise<LaneClaim | LaneOutcome> {
  const { deps, webhook, taken, lane, source } = work;
  const state = taken.lanes[lane];
  const { concurrency } = webhook.settings;
  const alone = concurrency === 1 ? 1 : concurrency * IN_TURN;
  const found = await findEnd(work, { after: state.cursor, most: state.most ?? WEBHOOK_LIMITS.maxChanges, alone });
  if (found === 'later') return found;
  if (found === undefined) return lane === 'replay' ? endReplay(work) : 'quiet';
  const place = placeOf(work, state.cursor);
  const to = deps.posted.cut(place, found.to);
  const aside = taken.hasParked
    ? await whatFollows(work, await deps.feed.read(webhook, source, { after: state.cursor, to }))
    : [];
  const without = keysOf(work, aside);
  const claim: LaneClaim = { to, refusals: 0, ...(without.length > 0 && { without }) };
  const write = { lane, state: { ...state, claim }, changes: parkAll(work, aside), nowMs: deps.clock.nowMs() };
  if (!(await claimDelivery(deps.store, taken, write))) return 'taken';
  deps.posted.note(place, to);
  return claim;
}

const placeOf = ({ taken: { workspace, id }, lane }: LaneWork, after: string) => `${workspace}/${id}/${lane}/${after}`;

async function endReplay({ deps, taken }: LaneWork): Promise<'more' | 'taken'> {
  const write = { lane: 'replay' as const, state: undefined, nowMs: deps.clock.nowMs() };
  return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
}

/** Events of those for whom something is put aside. */
async function whatFollows(work: LaneWork, told: readonly Told[]): Promise<Told[]> {
  const { deps, taken, source } = work;
  const parked = await findParkedKeys(deps.store, taken, keysOf(work, told));
  return told.filter((each) => parked.has(deps.feed.keyOf(source, each)));
}

async function deliverClaim(work: LaneWork, claim: LaneClaim): Promise<LaneOutcome> {
  const { deps, webhook, taken, lane, source } = work;
  const { cursor, most } = taken.lanes[lane];
  const read = await deps.feed.read(webhook, source, { after: cursor, to: claim.to });
  const told = leaveOut(work, { told: read, without: claim.without });
  const past: LaneState = { cursor: claim.to, ...(most !== undefined && { most }) };
  if (told.length === 0) {
    const write = { lane, state: past, nowMs: deps.clock.nowMs() };
    return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
  }
  const answered = await postIn(work, told);
  if (!answered) return 'taken';
  const { nowMs, outcome } = answered;
  const { to, without } = claim;
  const isOneRequest = told.length === 1 || isTogether(told);
  const range = { lane: source, after: cursor, to, ...(without && { without }) };
  const attempt = { ...answered.attempt, ...(isOneRequest && { range }) };
  // What is one entry of the log cannot be cut.
  const isCut =
    attempt.status === TOO_LARGE && told.length > 1 && isTogether(told) && (most === undefined || told.length <= most);
  if (isCut && !claim.without) {
    const state = { cursor, most: Math.floor(told.length / 2) };
    const isSettled = await settleDelivery(deps.store, taken, { lane, state, nowMs }, { attempt, outcome: CALM });
    return isSettled ? 'more' : 'taken';
  }
  const state = wasTaken(attempt) ? grown(past) : { ...past, cursor, claim: afterFailure(claim, answered) };
  if (!(await settleDelivery(deps.store, taken, { lane, state, nowMs }, { attempt, outcome }))) return 'taken';
  return outcome.status === 'active' ? 'more' : 'waiting';
}

const isTogether = (told: readonly Told[]): boolean => told[0]?.parks.device !== undefined;

function postIn(work: LaneWork, told: readonly Told[]): Promise<PostedTold | undefined> {
  const { deps, lane, source } = work;
  return postTold(work, told, {
    keyOf: (each) => deps.feed.keyOf(source, each),
    onTaken: (lateMs) => lane !== 'replay' && deps.counts.observeTold(lane, lateMs),
  });
}

const CALM = { status: 'active', breaker: {} } as const;

/** After requests that were too large they grow again, twofold with each that is taken. */
function grown({ cursor, most }: LaneState): LaneState {
  const isSmall = most !== undefined && most * 2 < WEBHOOK_LIMITS.maxChanges;
  return { cursor, ...(isSmall && { most: most * 2 }) };
}

function afterFailure(given: LaneClaim, answered: PostedTold): LaneClaim {
  const { takenKeys } = answered;
  const claim = takenKeys.length === 0 ? given : { ...given, without: [...(given.without ?? []), ...takenKeys] };
  if (!wasRefused(answered)) return claim;
  const refusals = claim.refusals + 1;
  const { notBeforeMs: _, ...rest } = claim;
  // Others being taken meanwhile does not shorten the first pauses.
  const isPausing = refusals < MANY_REFUSALS;
  return { ...rest, refusals, ...(isPausing && { notBeforeMs: answered.nowMs + DELAYS_MS[refusals - 1]! }) };
}

/** `quiet`: there is nothing to try it with. */
async function probe(
  work: LaneWork,
  claim: LaneClaim,
  { isEarly = false }: { isEarly?: boolean } = {},
): Promise<LaneOutcome> {
  const { deps, taken, lane, source } = work;
  const { claim: _claim, ...state } = taken.lanes[lane];
  const nowMs = deps.clock.nowMs();
  const found = claim.probe ?? (await findProbe(work, claim));
  if (!found) return 'quiet';
  const probing = { ...state, claim: { ...claim, probe: found } };
  if (!claim.probe && !(await claimDelivery(deps.store, taken, { lane, state: probing, nowMs }))) return 'taken';
  if ('to' in found && found.without?.length === 0) deps.posted.note(placeOf(work, claim.to), found.to);
  const { told, aside, to } = await splitBy(work, { claim, probe: found });
  const { probe: _probe, ...refused } = claim;
  const probes = isEarly ? (claim.probes ?? 0) + 1 : claim.refusals;
  const unproven: LaneState = { ...state, claim: { ...refused, probes } };
  if (told.length === 0) {
    return (await claimDelivery(deps.store, taken, { lane, state: unproven, nowMs })) ? 'quiet' : 'taken';
  }
  const answered = await postIn(work, told);
  if (!answered) return 'taken';
  const { outcome } = answered;
  const range = 'only' in found ? undefined : { ...found, lane: source, after: claim.to };
  const attempt = { ...answered.attempt, ...(range && { range }) };
  const isRefused = wasRefused(answered);
  const settle = (state: LaneState, changes: ParkedChange[] = []) => {
    const write = { lane, state, changes, nowMs: answered.nowMs };
    return settleDelivery(deps.store, taken, write, { attempt, outcome: isEarly && isRefused ? undefined : outcome });
  };
  if (!wasTaken(attempt)) return (await settle(isRefused ? unproven : probing)) ? 'waiting' : 'taken';
  return (await settle({ ...state, cursor: to }, parkAll(work, aside))) ? 'more' : 'taken';
}

/** What is posted as a probe, and what is put aside if that is taken; the lane is at `to` then. */
async function splitBy(
  work: LaneWork,
  { claim, probe }: { claim: LaneClaim; probe: Probe },
): Promise<{ told: Told[]; aside: Told[]; to: string }> {
  const { deps, webhook, source } = work;
  const refused = await toldBy(work, claim);
  const isOnly = (each: Told) => 'only' in probe && deps.feed.keyOf(source, each) === probe.only;
  if ('only' in probe) {
    return { told: refused.filter(isOnly), aside: refused.filter((each) => !isOnly(each)), to: claim.to };
  }
  const read = await deps.feed.read(webhook, source, { after: claim.to, to: probe.to });
  const told = leaveOut(work, { told: read, without: probe.without });
  return { told, aside: [...refused, ...read.filter((each) => !told.includes(each))], to: probe.to };
}

const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** The place of each is far from those of the others, however many are picked. */
function pickFar(keys: readonly string[], number: number): string {
  return keys[Math.floor((((number + 1) * GOLDEN_RATIO) % 1) * keys.length)]!;
}

/**
 * The next request in which something is not about those that the refused one is about, or for whom something is put aside. If nothing
 * has come behind it, or that was refused just now, some recipient of the refused one, far from the former.
 */
async function findProbe(work: LaneWork, claim: LaneClaim): Promise<Probe | undefined> {
  const { deps, webhook, taken, source } = work;
  const refused = keysOf(work, await toldBy(work, claim));
  const { probes = 0 } = claim;
  const inside = refused.length > 1 ? { only: pickFar(refused, probes) } : undefined;
  if (probes > 0 && probes < EARLY_PROBES && inside) return inside;
  const without = new Set<string>();
  let after = claim.to;
  for (let request = 0; request < PROBE_REQUESTS; request++) {
    const found = await findEnd(work, { after, most: WEBHOOK_LIMITS.maxChanges });
    if (typeof found !== 'object') break;
    const { to } = found;
    const told = await deps.feed.read(webhook, source, { after, to });
    const following = taken.hasParked ? await whatFollows(work, told) : [];
    const kept = new Set([...refused, ...keysOf(work, following)]);
    const keys = keysOf(work, told);
    for (const key of keys) if (kept.has(key)) without.add(key);
    if (keys.some((key) => !without.has(key))) return { to, without: [...without] };
    after = to;
  }
  return inside;
}

/** What is refused is put aside, and the lane goes on behind it. */
async function park(work: LaneWork, claim: LaneClaim): Promise<LaneOutcome> {
  const { deps, taken, lane } = work;
  const { claim: _, ...state } = { ...taken.lanes[lane], cursor: claim.to };
  const changes = parkAll(work, await toldBy(work, claim));
  const write = { lane, state, changes, nowMs: deps.clock.nowMs() };
  return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
}

async function toldBy(work: LaneWork, claim: LaneClaim): Promise<Told[]> {
  const { cursor } = work.taken.lanes[work.lane];
  const told = await work.deps.feed.read(work.webhook, work.source, { after: cursor, to: claim.to });
  return leaveOut(work, { told, without: claim.without });
}

function leaveOut(
  { deps, source }: LaneWork,
  { told, without }: { told: Told[]; without: readonly string[] | undefined },
): Told[] {
  if (!without || without.length === 0) return told;
  const keys = new Set(without);
  return told.filter((each) => !keys.has(deps.feed.keyOf(source, each)));
}

function keysOf({ deps, source }: LaneWork, told: readonly Told[]): string[] {
  return [...new Set(told.map((each) => deps.feed.keyOf(source, each)))];
}

function parkAll({ deps, source }: LaneWork, told: readonly Told[]): ParkedChange[] {
  return told.map((each) => ({ what: 'add', key: deps.feed.keyOf(source, each), event: each.parks }));
}
