import type { Workspace } from '@gateway/contracts/ids';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { sleep } from '@gateway/runtime/clock';
import { LANES, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import { deliverLane, mayProbeEarly, probeEarly } from './deliver-lane.js';
import { deliverParked } from './deliver-parked.js';
import type { DeliverDeps, LaneOutcome, Work } from './work.js';

/** `more`: again at once. `waiting`: until the next attempt. `quiet`: until something happens. */
export type DeliverOutcome = 'more' | 'waiting' | 'quiet' | 'gone' | 'idle' | 'taken';

const LOOK_AGAIN_MS = 100;

/**
 * Posts the next request of each lane to one endpoint. What is posted is written down before, and what came of it after, each in one
 * step; a process that dies in between is followed by one that posts the same again, under the same id. Throws only for Redis.
 */
export async function deliver(deps: DeliverDeps, workspace: Workspace, id: WebhookId): Promise<DeliverOutcome> {
  const [taken, webhook] = await Promise.all([
    takeWebhook(deps.store, { workspace, id, token: deps.token }),
    readWebhook(deps.store, workspace, id),
  ]);
  if (typeof taken === 'string') return taken;
  const isEarly = (taken.breaker.nextAttemptMs ?? 0) > deps.clock.nowMs();
  if (isEarly && !LANES.some((lane) => mayProbeEarly(taken.lanes[lane]))) return 'waiting';
  if (!webhook) return 'gone';
  const work: Work = { deps, webhook, taken };
  if (isEarly)
    return firstOf(
      LANES.map((lane) => () => probeEarly(work, lane)),
      'waiting',
    );
  const slow = [() => deliverLane(work, 'lists'), () => deliverParked(work)];
  // A failing endpoint gets one request, whatever waits for it.
  if (taken.breaker.failures) return firstOf([() => deliverLane(work, 'prompt'), ...slow], 'quiet');
  const others = Promise.all(slow.map((run) => run()));
  const prompt = deliverPrompt(work, others);
  await Promise.allSettled([prompt, others]);
  const outcomes = [await prompt, ...(await others)];
  const found = (['taken', 'more', 'waiting', 'later'] as const).find((outcome) => outcomes.includes(outcome));
  return found === 'later' ? 'waiting' : (found ?? 'quiet');
}

/** Again and again, as long as another lane waits for its answer: that is a large request, and may take long. */
async function deliverPrompt(work: Work, others: Promise<unknown>): Promise<LaneOutcome> {
  let areOthersDone = false;
  const end = others
    .catch(() => {})
    .then(() => {
      areOthersDone = true;
    });
  for (;;) {
    const outcome = await deliverLane(work, 'prompt');
    if (outcome === 'quiet') await Promise.race([end, sleep(LOOK_AGAIN_MS)]);
    else if (outcome !== 'more') return outcome;
    if (areOthersDone) return outcome;
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
