import { DELAYS_MS, nextBreaker } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, wasTaken } from '@gateway/contracts/webhooks/webhook';
import { claimDelivery, settleDelivery } from '@gateway/store/webhooks/delivering/deliveries';
import {
  type Parked,
  type ParkedChange,
  type ParkedClaim,
  type ParkedState,
  readDue,
  readParked,
} from '@gateway/store/webhooks/delivering/parked';
import type { Told } from './feed.js';
import { type Answered, confirmClaim, type LaneOutcome, post, type Work, wasRefused } from './work.js';

/**
 * What was put aside is posted in requests of its own: all that is due, and when that is refused half of it, until one recipient is
 * left whose event is refused alone. That event has a clock of its own from then on, and what follows for its recipient waits behind
 * it; all others have been told. After 72 hours it is left alone until it is replayed.
 */
export async function deliverParked(work: Work): Promise<LaneOutcome> {
  const { deps, taken } = work;
  const { parked: state, hasParked, lost } = taken;
  if (!hasParked && lost === 0 && !state.claim) return 'quiet';
  const nowMs = deps.clock.nowMs();
  if ((state.notBeforeMs ?? 0) > nowMs) return 'later';
  const claim = state.claim ?? (await chooseNext(work, nowMs));
  if (!claim) return 'later';
  const claimed: ParkedState = { ...state, claim };
  if (!state.claim && !(await claimDelivery(deps.store, taken, { lane: 'parked', state: claimed, nowMs })))
    return 'taken';
  await confirmClaim(work);
  return 'lost' in claim ? deliverLost(work, claim) : deliverKeys(work, claim);
}

type KeysClaim = Extract<ParkedClaim, { keys: unknown }>;
type LostClaim = Extract<ParkedClaim, { lost: number }>;

/** One that was refused alone is posted alone; of others those that can be told together. */
async function chooseNext({ deps, taken }: Work, nowMs: number): Promise<ParkedClaim | undefined> {
  if (taken.lost > 0) return { lost: taken.lost, atMs: nowMs };
  const most = Math.min(taken.parked.most ?? WEBHOOK_LIMITS.maxChanges, WEBHOOK_LIMITS.maxChanges);
  const [first, ...others] = await readDue(deps.store, taken, { nowMs, most });
  if (!first) return undefined;
  if (first.clock.failures || first.events[0]?.device === undefined) return { keys: [[first.key, 1]] };
  const keys: [string, number][] = [];
  let changes = 0;
  for (const { key, clock, events } of [first, ...others]) {
    const ends = events.findIndex(({ device }) => device === undefined);
    const count = Math.min(ends === -1 ? events.length : ends, WEBHOOK_LIMITS.maxChanges);
    if (clock.failures || count === 0) continue;
    if (changes + count > WEBHOOK_LIMITS.maxChanges) break;
    changes += count;
    keys.push([key, count]);
  }
  return { keys };
}

async function deliverKeys(work: Work, claim: KeysClaim): Promise<LaneOutcome> {
  const { deps, webhook, taken } = work;
  const parked = await readParked(
    deps.store,
    taken,
    claim.keys.map(([key]) => key),
  );
  const counts = new Map(claim.keys);
  const read = await deps.feed.readAgain(
    webhook,
    parked.flatMap(({ key, events }) => events.slice(0, counts.get(key))),
  );
  const told = read.filter((each): each is Told => typeof each === 'object');
  const gone = read.filter((each) => each === 'gone').length;
  const done: ParkedChange[] = claim.keys.map(([key, count]) => ({ what: 'drop', key, count }));
  if (gone > 0) done.push({ what: 'lose', count: gone });
  const { claim: _, ...state } = taken.parked;
  if (told.length === 0) {
    const write = { lane: 'parked' as const, state, changes: done, nowMs: deps.clock.nowMs() };
    return (await claimDelivery(deps.store, taken, write)) ? 'more' : 'taken';
  }
  const answered = await post(work, deps.feed.pack(webhook, told));
  if (!answered) return 'taken';
  if (wasTaken(answered.attempt)) return settle(work, answered, { state: grown(state), changes: done });
  // Nothing was said of what is in it, or it was said of the endpoint: its own clock counts.
  if (!wasRefused(answered)) return settle(work, answered, { state: taken.parked });
  const [only, another] = parked;
  if (only && !another) return settle(work, answered, refusedAlone(work, answered, { only, state }));
  return settle(work, answered, { state: refusedTogether(work, answered, parked.length) });
}

/** Of many in a row the halves cannot be the cause: then they are posted as if the endpoint failed. */
const HALVINGS = Math.ceil(Math.log2(WEBHOOK_LIMITS.maxChanges)) + 1;

function paced({ taken }: Work, { nowMs }: Answered): Pick<ParkedState, 'refusals' | 'notBeforeMs'> {
  const refusals = (taken.parked.refusals ?? 0) + 1;
  const excess = refusals - HALVINGS;
  const delayMs = DELAYS_MS[Math.min(excess, DELAYS_MS.length) - 1];
  return { refusals, ...(delayMs !== undefined && { notBeforeMs: nowMs + delayMs }) };
}

function refusedTogether(work: Work, answered: Answered, keys: number): ParkedState {
  return { most: Math.floor(keys / 2), ...paced(work, answered) };
}

function refusedAlone(
  work: Work,
  answered: Answered,
  { only, state }: { only: Parked; state: ParkedState },
): { state: ParkedState; changes: ParkedChange[] } {
  const { key, clock } = only;
  const times = { nowMs: answered.nowMs, random: work.deps.random() };
  const next = nextBreaker(clock, answered, times);
  // After 72 hours there is no next attempt.
  const { nextAttemptMs: _, failures = 0, ...ended } = clock;
  const breaker = next.status === 'disabled' ? { ...ended, failures: failures + 1 } : next.breaker;
  const { status } = answered.attempt;
  const change: ParkedChange = {
    what: 'wait',
    key,
    clock: { ...breaker, ...(status !== null && { lastStatus: status }) },
  };
  const isNew = !clock.failures;
  return { state: isNew ? { most: 1, ...paced(work, answered) } : state, changes: [change] };
}

function grown({ most }: ParkedState): ParkedState {
  return most !== undefined && most * 2 < WEBHOOK_LIMITS.maxChanges ? { most: most * 2 } : {};
}

async function deliverLost(work: Work, { lost, atMs }: LostClaim): Promise<LaneOutcome> {
  const answered = await post(work, work.deps.feed.packLost(work.webhook, { lost, atMs }));
  if (!answered) return 'taken';
  const { claim: _, ...state } = work.taken.parked;
  if (wasTaken(answered.attempt)) {
    work.deps.counts.countGap('parked');
    return settle(work, answered, { state, changes: [{ what: 'lose', count: -lost }] });
  }
  return settle(work, answered, {
    state: { ...work.taken.parked, ...(wasRefused(answered) && paced(work, answered)) },
  });
}

/** What is refused here says nothing of the endpoint as a whole. */
async function settle(
  { deps, taken }: Work,
  answered: Answered,
  { state, changes = [] }: { state: ParkedState; changes?: ParkedChange[] },
): Promise<LaneOutcome> {
  const { attempt, nowMs } = answered;
  const outcome = wasRefused(answered) ? undefined : answered.outcome;
  const write = { lane: 'parked' as const, state, changes, nowMs };
  if (!(await settleDelivery(deps.store, taken, write, { attempt, outcome }))) return 'taken';
  return wasTaken(attempt) || wasRefused(answered) ? 'more' : 'waiting';
}
