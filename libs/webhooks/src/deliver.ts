import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { isOver, warned } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, type WebhookId, wasTaken } from '@gateway/contracts/webhooks/webhook';
import { sleep } from '@gateway/runtime/clock';
import { connectionFor } from '@gateway/store/core/confirming/write-together';
import { type TakenWebhook, takeWebhook, warnOfWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { LANES, type Lane, type TellLane } from '@gateway/store/webhooks/delivering/lanes';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { readWebhook, type Webhook } from '@gateway/store/webhooks/webhooks';
import PQueue from 'p-queue';
import { deliverLane } from './deliver-lane.js';
import { claimsIn, hasFailed, hasFailedOften, isFailing } from './failing-claims.js';
import { isBehind, laterIfAway } from './held-parts.js';
import { deliverParked } from './parked/deliver-parked.js';
import { mayPostOffClock, mayProbeEarly, probeEarly } from './stuck-claims.js';
import { type DeliverDeps, keeperOf, type LaneOutcome, type Work } from './work.js';

/** `more`: again at once. `waiting`: until its time has come. `quiet`: until something happens. */
export type DeliverOutcome = 'more' | 'waiting' | 'quiet' | 'gone' | 'idle' | 'taken';

/** At what waits for its time, while requests are under way. */
const LOOK_AGAIN_MS = 1_000;

/**
 * Posts the next request of each lane to one endpoint. What is posted is written down before, and what came of it after, each in one
 * step; a process that dies in between is followed by one that posts the same again, under the same id. Throws only for Redis.
 */
export async function deliver(deps: DeliverDeps, workspace: Workspace, id: WebhookId): Promise<DeliverOutcome> {
  Object.assign(deps.known, { onlyGathers: false, wasAsked: false });
  const since = await connectionFor(deps.store, workspaceKeys(deps.store.space, workspace).webhook(id));
  const taken = await takeWebhook(deps.store, { workspace, id }, deps.owner);
  deps.connections.end(keeperOf({ workspace, id }), typeof taken === 'string' ? undefined : taken.revision);
  if (typeof taken === 'string') return taken;
  const nowMs = deps.clock.nowMs();
  const isEarly = !isOver(taken.breaker.nextAttemptMs, nowMs);
  if (isEarly && !(await warnIfDue(deps, taken, nowMs))) return 'waiting';
  const passing = lanesToPass(taken, nowMs);
  const isEarlyDue = passing.length > 0 || TELL_LANES.some((lane) => mayProbeEarly(taken.lanes[lane], nowMs));
  const mayTryEarly = isEarlyDue && mayPostOffClock(taken);
  if (isEarly && !(isOver(taken.breaker.askedUntilMs, nowMs) && mayTryEarly)) return 'waiting';
  const webhook = await readAgainIfChanged(deps, taken);
  if (!webhook) return 'gone';
  // Changed between the two.
  if (webhook.revision !== taken.revision) return 'more';
  const places = new PQueue({ concurrency: Math.max(webhook.settings.concurrency - 1, 1) });
  const work: Work = { deps, webhook, taken, since, places, failed: new Set() };
  const outcome = await deliverNext(work, isEarly ? passing : undefined);
  return outcome === 'quiet' && LANES.some((lane) => isBehind(taken.lanes[lane])) ? 'waiting' : outcome;
}

/** @param passing before the time of an endpoint that fails has come: lanes that do not wait for that. */
async function deliverNext(work: Work, passing: readonly TellLane[] | undefined): Promise<DeliverOutcome> {
  const { deps, webhook, taken } = work;
  if (passing) {
    const isStrict = webhook.settings.order === 'strict';
    const early = (isStrict ? [] : passing).map(
      (lane) => () => deliverLane({ ...work, isEarly: true, skipsRefused: true }, lane),
    );
    return firstOf([...early, ...TELL_LANES.map((lane) => () => probeEarly(work, lane))], 'waiting');
  }
  const failed = failedLane(work);
  if (failed) return firstOf([() => deliverLane(work, failed)], 'waiting');
  const parked = () => laterIfAway(() => deliverParked(work));
  // A failing endpoint gets one request, whatever waits for it.
  if (taken.breaker.failures) {
    return firstOf([...lanesInTurn(work, taken.breaker.failures), parked], 'quiet');
  }
  const { hasParked } = taken;
  const again = tellAgain(work, parked);
  const lists = deliverBeside(work, 'lists', again);
  const prompt = deliverBeside(work, 'prompt', Promise.allSettled([lists, again]));
  await Promise.allSettled([prompt, lists, again]);
  const others = await again;
  const outcomes = [await prompt, await lists, ...others];
  // It was put aside since there was a look at what is.
  if (taken.hasParked && !hasParked) outcomes.push('more');
  const found = (['taken', 'more', 'waiting', 'later'] as const).find((outcome) => outcomes.includes(outcome));
  deps.known.onlyGathers =
    found === 'later' &&
    !others.includes('later') &&
    LANES.every((lane) => !taken.lanes[lane].claim && !isBehind(taken.lanes[lane]));
  return found === 'later' ? 'waiting' : (found ?? 'quiet');
}

/**
 * What is told once more, and what is put aside. Where both have failed since something was taken it may be the endpoint: then they have one
 * clock, and turns.
 */
async function tellAgain(work: Work, parked: () => Promise<LaneOutcome>): Promise<(LaneOutcome | DeliverOutcome)[]> {
  const { failedReplay, aside } = work.taken.breaker;
  const replay = () => deliverLane(work, 'replay');
  if (!failedReplay || !aside) return Promise.all([replay(), parked()]);
  if (!isOver(aside.nextAttemptMs, work.deps.clock.nowMs())) return ['later'];
  return [await firstOf(aside.failures % 2 ? [replay, parked] : [parked, replay], 'quiet')];
}

/** Others are told of an endpoint that has failed for long when it has, and not with its next request. `false`: it is not as it was taken. */
async function warnIfDue({ store }: DeliverDeps, taken: TakenWebhook, nowMs: number): Promise<boolean> {
  const breaker = warned(taken.breaker, nowMs);
  if (!breaker) return true;
  // A test may have been taken since, or a request that was under way.
  const attempts = await listAttempts(store, taken.workspace, taken.id, WEBHOOK_LIMITS.keptAttempts);
  return warnOfWebhook(store, taken, { breaker, last: attempts.find((each) => !wasTaken(each)), nowMs });
}

/** It is read, and its secrets opened, once for each revision, and where the clock was set back. */
async function readAgainIfChanged(
  { store, known }: DeliverDeps,
  { workspace, id, revision, tellsAll }: TakenWebhook,
): Promise<Webhook | undefined> {
  const { webhook } = known;
  if (webhook?.revision !== revision || (tellsAll && !webhook.tellsAll))
    known.webhook = await readWebhook(store, workspace, id);
  return known.webhook;
}

const TELL_LANES = [...LANES, 'replay'] as const;

/** In strict order nothing passes what failed, in the other lane either: what that is told would end the failures. */
function failedLane({ webhook, taken }: Work): Lane | undefined {
  if (webhook.settings.order !== 'strict') return undefined;
  return LANES.find((lane) => hasFailed(taken.lanes[lane]));
}

/** What has not failed since something was taken. */
const freshLanes = ({ lanes }: TakenWebhook): TellLane[] => TELL_LANES.filter((lane) => !hasFailed(lanes[lane]));

/**
 * What a lane begins with has failed often: what another one has to tell waits for no clock but one that the endpoint asked for. It is the
 * best probe, as it passes nothing. If it fails, too, it is tried again on its own clock, until it has failed often as well; and so is
 * the second of two that have failed, so that what comes behind either is tried soon.
 */
function lanesToPass(taken: TakenWebhook, nowMs: number): readonly TellLane[] {
  const { lanes } = taken;
  const isStuck = TELL_LANES.flatMap((lane) => claimsIn(lanes[lane])).some(
    (claim) => isFailing(claim) && isOver(claim.notBeforeMs, nowMs),
  );
  const begun = LANES.filter((lane) => hasFailed(lanes[lane]) && !hasFailedOften(lanes[lane]));
  const due = (isStuck ? begun : begun.slice(1)).filter((lane) => isOver(lanes[lane].claim?.notBeforeMs, nowMs));
  return isStuck ? [...freshLanes(taken), ...due] : due;
}

/**
 * It may be that only what one lane begins with fails: that is tried until it has failed often enough to be put aside. Then others are, first
 * those that have not failed, unless nothing may pass it; and those that failed often have their turns. One may be of both, as it has passed
 * what failed.
 */
function lanesInTurn(work: Work, failures: number): (() => Promise<LaneOutcome>)[] {
  const { lanes } = work.taken;
  const toRun = (some: readonly TellLane[], how: Pick<Work, 'skipsRefused'> = {}) =>
    some.map((lane) => () => deliverLane({ ...work, ...how }, lane));
  if (work.webhook.settings.order === 'strict') return toRun(TELL_LANES);
  const stuck = TELL_LANES.filter((lane) => hasFailedOften(lanes[lane]));
  const begun = TELL_LANES.filter((lane) => hasFailed(lanes[lane]) && !stuck.includes(lane));
  const fresh = toRun(freshLanes(work.taken), { skipsRefused: true });
  if (stuck.length === 0) return [...toRun(begun), ...fresh];
  const first = failures % stuck.length;
  return [...fresh, ...toRun([...begun, ...stuck.slice(first), ...stuck.slice(0, first)])];
}

/**
 * As long as there is more for a while, and whenever something happens as long as others wait for their answers: what is large, or was told
 * before, delays nothing.
 */
async function deliverBeside(work: Work, lane: Lane, others: Promise<unknown>): Promise<LaneOutcome> {
  const { clock, untilNews, goesOnMs = 0, onNext } = work.deps;
  const startedMs = clock.monotonicMs();
  let areOthersDone = false;
  const end = others
    .catch(() => {})
    .then(() => {
      areOthersDone = true;
    });
  for (;;) {
    const news = untilNews();
    const outcome = await deliverLane(work, lane);
    // One that has begun to fail is looked at as a whole.
    if (outcome === 'more' && work.taken.breaker.failures) return outcome;
    if (outcome === 'quiet') await Promise.race([end, news]);
    else if (outcome === 'later') await Promise.race([end, news, sleep(LOOK_AGAIN_MS)]);
    else if (outcome !== 'more') return outcome;
    const goesOn = outcome === 'more' && clock.monotonicMs() - startedMs < goesOnMs;
    if (areOthersDone && !goesOn) return outcome;
    if (goesOn) onNext?.();
  }
}

/** Until one of them has posted something. */
async function firstOf<O extends DeliverOutcome>(
  lanes: readonly (() => Promise<LaneOutcome>)[],
  otherwise: O,
): Promise<DeliverOutcome> {
  let isLater = false;
  for (const run of lanes) {
    const outcome = await run();
    if (outcome === 'later') isLater = true;
    else if (outcome !== 'quiet') return outcome;
  }
  return isLater ? 'waiting' : otherwise;
}
