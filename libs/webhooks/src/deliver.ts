import type { Workspace } from '@gateway/contracts/ids';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { LANES, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import { deliverLane, mayProbeEarly, probeEarly } from './deliver-lane.js';
import { deliverParked } from './deliver-parked.js';
import type { DeliverDeps, LaneOutcome, Work } from './work.js';

/** `more`: again at once. `waiting`: until the next attempt. `quiet`: until something happens. */
export type DeliverOutcome = 'more' | 'waiting' | 'quiet' | 'gone' | 'idle' | 'taken';
/**
 * Posts the next request of each lane to one endpoint. What is posted is written down before, and what came of it after, each in one
 * step; a process that dies in between is followed by one that posts the same again, under the same id. Throws only for Redis.
 */
export async function deliver(deps: DeliverDeps, workspace: Workspace, id: WebhookId): Promise<DeliverOutcome> {
  const taken = await takeWebhook(deps.store, { workspace, id, token: deps.token });
  if (typeof taken === 'string') return taken;
  const isEarly = (taken.breaker.nextAttemptMs ?? 0) > deps.clock.nowMs();
  if (isEarly && !LANES.some((lane) => mayProbeEarly(taken.lanes[lane]))) return 'waiting';
  const webhook = await readWebhook(deps.store, workspace, id);
  if (!webhook) return 'gone';
  const work: Work = { deps, webhook, taken };
  if (isEarly)
    return firstOf(
      LANES.map((lane) => () => probeEarly(work, lane)),
      'waiting',
    );
  const lanes = [...LANES.map((lane) => () => deliverLane(work, lane)), () => deliverParked(work)];
  // A failing endpoint gets one request, whatever waits for it.
  if (taken.breaker.failures) return firstOf(lanes, 'quiet');
  const outcomes = await Promise.all(lanes.map((run) => run()));
  const found = (['taken', 'more', 'waiting', 'later'] as const).find((outcome) => outcomes.includes(outcome));
  return found === 'later' ? 'waiting' : (found ?? 'quiet');
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
