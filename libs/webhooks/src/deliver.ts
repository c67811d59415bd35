import type { Workspace } from '@gateway/contracts/ids';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { sleep } from '@gateway/runtime/clock';
import { takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { LANES, type Lane } from '@gateway/store/webhooks/delivering/lanes';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import { deliverLane, mayProbeEarly, probeEarly } from './deliver-lane.js';
import { deliverParked } from './deliver-parked.js';
import type { DeliverDeps, LaneOutcome, Work } from './work.js';

/** `more`: again at once. `waiting`: until its time has come. `quiet`: until something happens. */
export type DeliverOutcome = 'more' | 'waiting' | 'quiet' | 'gone' | 'idle' | 'taken';

const LOOK_AGAIN_MS = 100;

/**
 * Posts the next request of each lane to one endpoint. What is posted is written down before, and what came of it after, each in one
 * step; a process that dies in between is followed by one that posts the same again, under the same id. Throws only for Redis.
 */
export async function deliver(deps: DeliverDeps, workspace: Workspace, id: WebhookId): Promise<DeliverOutcome> {
  const [taken, webhook] = await Promise.all([
    takeWebhook(deps.store, { workspace, id }, deps.owner),
    readWebhook(deps.store, workspace, id),
  ]);
  if (typeof taken === 'string') return taken;
  const isEarly = (taken.breaker.nextAttemptMs ?? 0) > deps.clock.nowMs();
  if (isEarly && !TELL_LANES.some((lane) => mayProbeEarly(taken.lanes[lane]))) return 'waiting';
  if (!webhook) return 'gone';
  // Changed between the two.
  if (webhook.revision !== taken.revision) return 'more';
  const work: Work = { deps, webhook, taken };
  const probes = TELL_LANES.map((lane) => () => probeEarly(work, lane));
  if (isEarly) return firstOf(probes, 'waiting');
  const lanes = [...TELL_LANES.map((lane) => () => deliverLane(work, lane)), () => deliverParked(work)];
  // A failing endpoint gets one request, whatever waits for it.
  if (taken.breaker.failures) return firstOf(lanes, 'quiet');
  const again = Promise.all([deliverLane(work, 'replay'), deliverParked(work)]);
  const lists = deliverBeside(work, 'lists', again);
  const prompt = deliverBeside(work, 'prompt', Promise.allSettled([lists, again]));
  await Promise.allSettled([prompt, lists, again]);
  const outcomes = [await prompt, await lists, ...(await again)];
  const found = (['taken', 'more', 'waiting', 'later'] as const).find((outcome) => outcomes.includes(outcome));
  return found === 'later' ? 'waiting' : (found ?? 'quiet');
}

const TELL_LANES = [...LANES, 'replay'] as const;

/** Again and again, as long as others wait for their answers: what is large, or was told before, delays nothing. */
async function deliverBeside(work: Work, lane: Lane, others: Promise<unknown>): Promise<LaneOutcome> {
  let areOthersDone = false;
  const end = others
    .catch(() => {})
    .then(() => {
      areOthersDone = true;
    });
  for (;;) {
    const outcome = await deliverLane(work, lane);
    if (outcome === 'quiet' || outcome === 'later') await Promise.race([end, sleep(LOOK_AGAIN_MS)]);
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
