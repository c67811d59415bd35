import { DELAYS_MS } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, wasTaken } from '@gateway/contracts/webhooks/webhook';
import {
  claimDelivery,
  type Lane,
  type LaneClaim,
  type LaneState,
  type Probe,
  settleDelivery,
} from '@gateway/store/webhooks/delivering/deliveries';
import { findParkedKeys, type ParkedChange } from '@gateway/store/webhooks/delivering/parked';
import type { Told } from './feed.js';
import { type Answered, type LaneOutcome, post, type Work, wasRefused } from './work.js';

/**
 * A lane posts what comes next in the log, until it is taken. What was refused three times may be what no server likes, or the server may
 * be out of order: then what comes behind it is posted, a probe. If that, or anything else, is taken, the refused request is put aside
 * (parked), with all that follows for its recipients, and the lane goes on. A request without an answer says nothing of what was in it:
 * it is posted again, and nothing is put aside for it.
 */

/** Then something else is tried. */
const MANY_REFUSALS = 3;
/** A probe is looked for in so many requests behind the one that is refused. */
const PROBE_REQUESTS = 20;
const TOO_LARGE = 413;

export async function deliverLane(work: Work, lane: Lane): Promise<LaneOutcome> {
  const { claim } = work.taken.lanes[lane];
  if ((claim?.notBeforeMs ?? 0) > work.deps.clock.nowMs()) return 'later';
  if (claim && isStuck(work, claim)) {
    // Something else was taken since.
    if (!work.taken.breaker.failures) return park(work, lane, claim);
    const probed = wantsProbe(claim) ? await probe(work, lane, claim) : 'quiet';
    if (probed !== 'quiet') return probed;
  }
  const claimed = claim ?? (await claimNext(work, lane));
  return typeof claimed === 'string' ? claimed : deliverClaim(work, lane, claimed);
}

/** The first probe waits for no clock: it is not about the endpoint. */
export const mayProbeEarly = ({ claim }: LaneState): boolean =>
  claim !== undefined && claim.refusals >= MANY_REFUSALS && claim.probedAt === undefined && !claim.probe;

export function probeEarly(work: Work, lane: Lane): Promise<LaneOutcome> {
  const { claim } = work.taken.lanes[lane];
  if (!claim || !isStuck(work, claim) || !mayProbeEarly(work.taken.lanes[lane])) return Promise.resolve('quiet');
  return probe(work, lane, claim, { isEarly: true });
}

const isStuck = ({ webhook }: Work, { refusals }: LaneClaim): boolean =>
  refusals >= MANY_REFUSALS && webhook.settings.order !== 'strict';

/** In turn with what is refused, so that neither waits for long when the endpoint is back. */
const wantsProbe = ({ probe, probedAt, refusals }: LaneClaim): boolean => probe !== undefined || probedAt !== refusals;

async function claimNext(work: Work, lane: Lane): Promise<LaneClaim | 'quiet' | 'taken' | 'more'> {
  const { deps, webhook, taken } = work;
  const state = taken.lanes[lane];
  const most = state.most ?? WEBHOOK_LIMITS.maxChanges;
  const to = await deps.feed.findEnd(webhook, lane, { after: state.cursor, most });
  if (to === undefined) return 'quiet';
  const aside = taken.hasParked
    ? await whatFollows(work, lane, await deps.feed.read(webhook, lane, { after: state.cursor, to }))
    : [];
  const without = keysOf(work, lane, aside);
  const claim: LaneClaim = { to, refusals: 0, ...(without.length > 0 && { without }) };
  const write = { lane, state: { ...state, claim }, changes: parkAll(work, lane, aside), nowMs: deps.clock.nowMs() };
  return (await claimDelivery(deps.store, taken, write)) ? claim : 'taken';
}

/** Events of those for whom something is put aside. */
async function whatFollows(work: Work, lane: Lane, told: readonly Told[]): Promise<Told[]> {
  const { deps, taken } = work;
  const parked = await findParkedKeys(deps.store, taken, keysOf(work, lane, told));
  return told.filter((each) => parked.has(deps.feed.keyOf(lane, each)));
}

async function deliverClaim(work: Work, lane: Lane, claim: LaneClaim): Promise<LaneOutcome> {
  const { deps, webhook, taken } = work;
  const { cursor, most } = taken.lanes[lane];
  const read = await deps.feed.read(webhook, lane, { after: cursor, to: claim.to });
  const told = leaveOut(work, lane, { told: read, without: claim.without });
  const past: LaneState = { cursor: claim.to, ...(most !== undefined && { most }) };
  if (told.length === 0) {
    const write = { lane, state: past, nowMs: deps.clock.nowMs() };
    return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
  }
  const answered = await postIn(work, lane, told);
  if (!answered) return 'taken';
  const { attempt, nowMs, outcome } = answered;
  // What is one entry of the log cannot be cut.
  const isCut = attempt.status === TOO_LARGE && told.length > 1 && (most === undefined || told.length <= most);
  if (isCut && !claim.without) {
    const state = { cursor, most: Math.floor(told.length / 2) };
    const isSettled = await settleDelivery(deps.store, taken, { lane, state, nowMs }, { attempt, outcome: CALM });
    return isSettled ? 'more' : 'taken';
  }
  const state = wasTaken(attempt) ? grown(past) : { ...past, cursor, claim: afterFailure(claim, answered) };
  if (!(await settleDelivery(deps.store, taken, { lane, state, nowMs }, { attempt, outcome }))) return 'taken';
  return outcome.status === 'active' ? 'more' : 'waiting';
}

async function postIn(work: Work, lane: Lane, told: readonly Told[]): Promise<Answered | undefined> {
  const delivery = work.deps.feed.pack(work.webhook, told);
  const answered = await post(work, delivery);
  if (answered && wasTaken(answered.attempt)) work.deps.counts.observeTold(lane, answered.nowMs - delivery.atMs);
  return answered;
}

const CALM = { status: 'active', breaker: {} } as const;

/** After requests that were too large they grow again, twofold with each that is taken. */
function grown({ cursor, most }: LaneState): LaneState {
  const isSmall = most !== undefined && most * 2 < WEBHOOK_LIMITS.maxChanges;
  return { cursor, ...(isSmall && { most: most * 2 }) };
}

function afterFailure(claim: LaneClaim, answered: Answered): LaneClaim {
  if (!wasRefused(answered)) return claim;
  const refusals = claim.refusals + 1;
  const { notBeforeMs: _, ...rest } = claim;
  // Others being taken meanwhile does not shorten the first pauses.
  const isPausing = refusals < MANY_REFUSALS;
  return { ...rest, refusals, ...(isPausing && { notBeforeMs: answered.nowMs + DELAYS_MS[refusals - 1]! }) };
}

/** `quiet`: there is nothing to try it with. */
async function probe(
  work: Work,
  lane: Lane,
  claim: LaneClaim,
  { isEarly = false }: { isEarly?: boolean } = {},
): Promise<LaneOutcome> {
  const { deps, taken } = work;
  const { claim: _claim, ...state } = taken.lanes[lane];
  const nowMs = deps.clock.nowMs();
  const found = claim.probe ?? (await findProbe(work, lane, claim));
  if (!found) return 'quiet';
  const probing = { ...state, claim: { ...claim, probe: found } };
  if (!claim.probe && !(await claimDelivery(deps.store, taken, { lane, state: probing, nowMs }))) return 'taken';
  const { told, aside, to } = await splitBy(work, lane, { claim, probe: found });
  const { probe: _probe, ...refused } = claim;
  const unproven: LaneState = { ...state, claim: { ...refused, probedAt: claim.refusals } };
  if (told.length === 0) {
    return (await claimDelivery(deps.store, taken, { lane, state: unproven, nowMs })) ? 'quiet' : 'taken';
  }
  const answered = await postIn(work, lane, told);
  if (!answered) return 'taken';
  const { attempt, outcome } = answered;
  const isRefused = wasRefused(answered);
  const settle = (state: LaneState, changes: ParkedChange[] = []) => {
    const write = { lane, state, changes, nowMs: answered.nowMs };
    return settleDelivery(deps.store, taken, write, { attempt, outcome: isEarly && isRefused ? undefined : outcome });
  };
  if (!wasTaken(attempt)) return (await settle(isRefused ? unproven : probing)) ? 'waiting' : 'taken';
  return (await settle({ ...state, cursor: to }, parkAll(work, lane, aside))) ? 'more' : 'taken';
}

/** What is posted as a probe, and what is put aside if that is taken; the lane is at `to` then. */
async function splitBy(
  work: Work,
  lane: Lane,
  { claim, probe }: { claim: LaneClaim; probe: Probe },
): Promise<{ told: Told[]; aside: Told[]; to: string }> {
  const { deps, webhook } = work;
  const refused = await toldBy(work, lane, claim);
  const isOnly = (each: Told) => 'only' in probe && deps.feed.keyOf(lane, each) === probe.only;
  if ('only' in probe) {
    return { told: refused.filter(isOnly), aside: refused.filter((each) => !isOnly(each)), to: claim.to };
  }
  const read = await deps.feed.read(webhook, lane, { after: claim.to, to: probe.to });
  const told = leaveOut(work, lane, { told: read, without: probe.without });
  return { told, aside: [...refused, ...read.filter((each) => !told.includes(each))], to: probe.to };
}

/**
 * The next request in which something is not about those that the refused one is about, or for whom something is put aside. If nothing
 * has come behind it, some recipient of the refused one, another one each time.
 */
async function findProbe(work: Work, lane: Lane, claim: LaneClaim): Promise<Probe | undefined> {
  const { deps, webhook, taken } = work;
  const refused = keysOf(work, lane, await toldBy(work, lane, claim));
  const without = new Set<string>();
  let after = claim.to;
  for (let request = 0; request < PROBE_REQUESTS; request++) {
    const to = await deps.feed.findEnd(webhook, lane, { after, most: WEBHOOK_LIMITS.maxChanges });
    if (to === undefined) break;
    const told = await deps.feed.read(webhook, lane, { after, to });
    const following = taken.hasParked ? await whatFollows(work, lane, told) : [];
    const kept = new Set([...refused, ...keysOf(work, lane, following)]);
    const keys = keysOf(work, lane, told);
    for (const key of keys) if (kept.has(key)) without.add(key);
    if (keys.some((key) => !without.has(key))) return { to, without: [...without] };
    after = to;
  }
  return refused.length > 1 ? { only: refused[claim.refusals % refused.length]! } : undefined;
}

/** What is refused is put aside, and the lane goes on behind it. */
async function park(work: Work, lane: Lane, claim: LaneClaim): Promise<LaneOutcome> {
  const { deps, taken } = work;
  const { claim: _, ...state } = { ...taken.lanes[lane], cursor: claim.to };
  const changes = parkAll(work, lane, await toldBy(work, lane, claim));
  const write = { lane, state, changes, nowMs: deps.clock.nowMs() };
  return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
}

async function toldBy(work: Work, lane: Lane, claim: LaneClaim): Promise<Told[]> {
  const { cursor } = work.taken.lanes[lane];
  const told = await work.deps.feed.read(work.webhook, lane, { after: cursor, to: claim.to });
  return leaveOut(work, lane, { told, without: claim.without });
}

function leaveOut(
  { deps }: Work,
  lane: Lane,
  { told, without }: { told: Told[]; without: readonly string[] | undefined },
): Told[] {
  if (!without || without.length === 0) return told;
  const keys = new Set(without);
  return told.filter((each) => !keys.has(deps.feed.keyOf(lane, each)));
}

function keysOf({ deps }: Work, lane: Lane, told: readonly Told[]): string[] {
  return [...new Set(told.map((each) => deps.feed.keyOf(lane, each)))];
}

function parkAll({ deps }: Work, lane: Lane, told: readonly Told[]): ParkedChange[] {
  return told.map((each) => ({ what: 'add', key: deps.feed.keyOf(lane, each), event: each.parks }));
}
