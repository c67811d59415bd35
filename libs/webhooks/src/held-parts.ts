import { allShardsIn, NO_SHARDS, type ShardSet, withoutShards } from '@gateway/contracts/shards';
import { isOver } from '@gateway/contracts/webhooks/breaker';
import { ShardsAwayError } from '@gateway/store/core/away/away-shards';
import { claimDelivery, postponeReplay } from '@gateway/store/webhooks/delivering/deliveries';
import type { HeldPart, LaneState, TellLane } from '@gateway/store/webhooks/delivering/lanes';
import { isStuck, wasOtherTaken } from './failing-claims.js';
import { inLane, type LaneWork } from './lane-work.js';
import type { LaneOutcome, Work } from './work.js';

/**
 * While a node of a Redis Cluster is away, a lane passes what lies there, and all else that comes of the same shards, so that the order of
 * each device stays. Once the node is back, what was passed is told first. In strict order nothing is passed.
 * Where that is refused often, the lane goes on beside it: what else it has to tell is tried in its place.
 */
export async function passingAway(
  given: Work,
  lane: TellLane,
  run: (work: LaneWork) => Promise<LaneOutcome>,
): Promise<LaneOutcome> {
  const work = inLane(given, lane);
  try {
    const outcome =
      (await catchUp(work, (part) => !isRefused(work, part))) ?? (waitsForOrder(work) ? 'later' : await run(work));
    if (work.skipsRefused || (outcome !== 'quiet' && outcome !== 'later')) return outcome;
    const nowMs = work.deps.clock.nowMs();
    const turned = await catchUp(work, ({ claim }) => isOver(claim?.notBeforeMs, nowMs));
    return turned === 'more' ? passingAway(given, lane, run) : (turned ?? outcome);
  } catch (thrown) {
    if (!(thrown instanceof ShardsAwayError)) throw thrown;
    return pass(work, thrown.shards);
  }
}

/** The order has become strict since it passed something: nothing more is told before that. */
function waitsForOrder({ webhook, taken, lane }: LaneWork): boolean {
  const { held, claim, catchesUp } = taken.lanes[lane];
  return webhook.settings.order === 'strict' && held !== undefined && !claim && !catchesUp;
}

/** What is not in a lane waits. */
export async function laterIfAway(run: () => Promise<LaneOutcome>): Promise<LaneOutcome> {
  return run().catch((thrown: unknown) => {
    if (!(thrown instanceof ShardsAwayError)) throw thrown;
    return 'later';
  });
}

/** Something of it is to be told once a node is back: that rings no bell. */
export const isBehind = ({ held, catchesUp }: LaneState): boolean => (held ?? catchesUp) !== undefined;

const isRefused = (work: LaneWork, { claim }: Pick<LaneState, 'claim'>): boolean =>
  claim !== undefined && isStuck(work, claim) && !wasOtherTaken(work);

/** @param mayTell which part. A claim that was refused often, and has nothing else to be tried in its place, makes way for it. */
async function catchUp(work: LaneWork, mayTell: (part: HeldPart) => boolean): Promise<LaneOutcome | undefined> {
  const { held, claim, catchesUp, cursor, asked, ...rest } = work.taken.lanes[work.lane];
  if (!held || catchesUp) return undefined;
  const back = held.find((part) => !work.deps.store.awayShards.areAway(part.shards) && mayTell(part));
  if (!back) return undefined;
  if (claim) {
    const makesWay = isRefused(work, { claim }) && !claim.probe && !isRefused(work, back);
    return makesWay ? write(work, holdAll(work, await findClaimed(work))) : undefined;
  }
  const { shards, ...begins } = back;
  const others = held.filter((each) => each !== back);
  return write(work, {
    ...{ ...rest, ...begins, catchesUp: { shards, to: cursor, ...(asked && { asked }) } },
    ...(others.length > 0 && { held: others }),
  });
}

/** What a lane has passed, and was refused often, is put back: what else there is has its turn. */
export const behindOthers = (work: LaneWork, state: LaneState): LaneState =>
  state.catchesUp && state.claim && isStuck(work, state.claim) ? putBack(state) : state;

/** All that was passed is told. Where it ends in the middle of an entry, that is of what was passed, unless the lane came to there with others. */
export function endCatchUp(work: LaneWork, { catchesUp, ...former }: LaneState): Promise<'more' | 'taken'> {
  const { asked: askedOf, ...state } = former;
  const { to, asked = askedOf } = catchesUp!;
  return write(work, { ...state, cursor: to, ...(asked && { asked }) });
}

/** All of a replay is told but what it has passed: while the nodes of all of that are away others have their turn, unless their endpoint fails. */
export async function postpone({ deps, taken }: LaneWork): Promise<'more' | 'later' | 'taken'> {
  const { failures, failedReplay } = taken.breaker;
  const { held = [] } = taken.lanes.replay;
  if (failures || failedReplay || held.some(({ shards }) => !deps.store.awayShards.areAway(shards))) return 'later';
  const outcome = await postponeReplay(deps.store, taken);
  if (outcome === 'fenced') return 'taken';
  return outcome === 'done' ? 'more' : 'later';
}

async function pass(work: LaneWork, away: ShardSet): Promise<LaneOutcome> {
  if (work.webhook.settings.order === 'strict') return 'later';
  const state = work.taken.lanes[work.lane];
  const next = state.catchesUp
    ? putBackAway(state, away)
    : state.claim
      ? await holdClaim(work, away)
      : holdFrom(state, away);
  return next ? write(work, next) : 'later';
}

/** The node is away again. What was claimed waits as a whole; otherwise what lies elsewhere goes on. */
function putBackAway(state: LaneState, away: ShardSet): LaneState {
  const { catchesUp, cursor, asked, claim, held = [] } = state;
  const there = withoutShards(catchesUp!.shards, away);
  if (claim || there === NO_SHARDS || there === catchesUp!.shards) return putBack(state);
  const part = { shards: withoutShards(catchesUp!.shards, there), cursor, ...(asked && { asked }) };
  return { ...state, catchesUp: { ...catchesUp!, shards: there }, held: [...held, part] };
}

function putBack({ catchesUp, cursor, asked, claim, held = [], ...rest }: LaneState): LaneState {
  const { shards, to, asked: askedThere } = catchesUp!;
  const part = { shards, cursor, ...(asked && { asked }), ...(claim && { claim }) };
  return { ...rest, cursor: to, ...(askedThere && { asked: askedThere }), held: [...held, part] };
}

/** From where the lane is. `undefined` if that is held already. */
function holdFrom(state: LaneState, away: ShardSet, cursor = state.cursor): LaneState | undefined {
  const { held = [], asked } = state;
  const shards = withoutShards(away, allShardsIn(held));
  const isHere = cursor === state.cursor;
  return shards === NO_SHARDS
    ? undefined
    : { ...state, held: [...held, { shards, cursor, ...(isHere && asked && { asked }) }] };
}

/**
 * What is claimed comes again as it was, so all of it waits, and what comes of any of its shards: the lane goes on behind it with others. So
 * does what was posted to find out what becomes of it. If only what comes behind is away, that is passed.
 */
async function holdClaim(work: LaneWork, away: ShardSet): Promise<LaneState | undefined> {
  const found = await findClaimed(work);
  const isOfClaim = withoutShards(found.shards, away) !== found.shards;
  return isOfClaim ? holdAll(work, found) : holdFrom(work.taken.lanes[work.lane], away, found.to);
}

interface Claimed {
  to: string;
  shards: ShardSet;
}

async function findClaimed({ deps, webhook, taken, lane, source }: LaneWork): Promise<Claimed> {
  const { claim, cursor } = taken.lanes[lane];
  const { probe, to: end } = claim!;
  const to = probe && 'to' in probe ? probe.to : end;
  return { to, shards: await deps.feed.findShards(webhook, source, { after: cursor, to }) };
}

function holdAll({ taken, lane }: LaneWork, { to, shards }: Claimed): LaneState {
  const { claim, cursor, asked, held = [], ...rest } = taken.lanes[lane];
  const { tried: _, ...kept } = claim!;
  const part = { shards, cursor, ...(asked && { asked }), claim: kept };
  return { ...rest, cursor: to, held: [...held, part] };
}

async function write({ deps, taken, lane }: LaneWork, state: LaneState): Promise<'more' | 'taken'> {
  return (await claimDelivery(deps.store, taken, { lane, state, nowMs: deps.clock.nowMs() })) ? 'more' : 'taken';
}
