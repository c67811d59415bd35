import type { Workspace } from '@gateway/contracts/ids';
import { type BreakerOutcome, nextBreaker } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, type WebhookAttempt, type WebhookId, wasTaken } from '@gateway/contracts/webhooks/webhook';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { type PostedWebhook, postWebhook } from '@gateway/egress/post-webhook';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import {
  claimDelivery,
  LANES,
  type Lane,
  type LaneState,
  settleDelivery,
  type TakenWebhook,
  takeWebhook,
} from '@gateway/store/webhooks/delivering/deliveries';
import { readWebhook, type Webhook } from '@gateway/store/webhooks/webhooks';

/** A part of a lane, as one request. */
export interface Delivery {
  /** `webhook-id`, of what is in it: the same whenever it is rendered again. */
  id: string;
  body: Buffer;
  changes: number;
  /** When its first event happened. */
  atMs: number;
}

/** The log, as one endpoint is told of it. */
export interface Feed {
  /**
   * Where the next request of a lane ends, with `most` changes in it or fewer; `undefined` while nothing is to be told yet. Never
   * ends where it begins.
   */
  findEnd(webhook: Webhook, lane: Lane, range: { after: string; most: number }): Promise<string | undefined>;
  /** The same bytes each time. `undefined`: nothing in it is for this endpoint. */
  render(webhook: Webhook, lane: Lane, range: { after: string; to: string }): Promise<Delivery | undefined>;
}

/** Who counts what is done. */
export interface DeliveryCounts {
  countAttempt(attempt: WebhookAttempt): void;
  /** An endpoint took an event so long after it happened. */
  observeTold(lane: Lane, ms: number): void;
  countGap(cause: 'log_gone'): void;
}

export interface DeliverDeps {
  store: Store;
  counts: DeliveryCounts;
  feed: Feed;
  policy: FetchPolicy;
  clock: Clock;
  random(): number;
  signal: AbortSignal;
  /** Of this process. */
  token: string;
}

/** `more`: again at once. `waiting`: until the next attempt. `quiet`: until something happens. */
export type DeliverOutcome = 'more' | 'waiting' | 'quiet' | 'gone' | 'idle' | 'taken';

const TOO_LARGE = 413;

/**
 * Posts the next request of each lane to one endpoint. What is posted is written down before, and what came of it after, each in one
 * step; a process that dies in between is followed by one that posts the same again, under the same id. Throws only for Redis.
 */
export async function deliver(deps: DeliverDeps, workspace: Workspace, id: WebhookId): Promise<DeliverOutcome> {
  const taken = await takeWebhook(deps.store, { workspace, id, token: deps.token });
  if (typeof taken === 'string') return taken;
  if ((taken.breaker.nextAttemptMs ?? 0) > deps.clock.nowMs()) return 'waiting';
  const webhook = await readWebhook(deps.store, workspace, id);
  if (!webhook) return 'gone';
  // A failing endpoint gets one request, whatever waits for it.
  if (taken.breaker.failures) return deliverFirst(deps, webhook, taken);
  const outcomes = await Promise.all(LANES.map((lane) => deliverLane(deps, { webhook, taken, lane })));
  return outcomes.find((outcome) => outcome !== 'quiet') ?? 'quiet';
}

async function deliverFirst(deps: DeliverDeps, webhook: Webhook, taken: TakenWebhook): Promise<DeliverOutcome> {
  for (const lane of LANES) {
    const outcome = await deliverLane(deps, { webhook, taken, lane });
    if (outcome !== 'quiet') return outcome;
  }
  return 'quiet';
}

async function deliverLane(
  deps: DeliverDeps,
  { webhook, taken, lane }: { webhook: Webhook; taken: TakenWebhook; lane: Lane },
): Promise<DeliverOutcome> {
  const { store, feed, policy, clock, signal, counts } = deps;
  const claimed = await claim(deps, { webhook, taken, lane });
  if (typeof claimed === 'string') return claimed;
  const {
    cursor,
    claim: { to },
  } = claimed;
  const delivery = await feed.render(webhook, lane, { after: cursor, to });
  if (!delivery) return (await claimDelivery(store, taken, lane, { cursor: to })) ? 'more' : 'taken';
  const { target, secrets } = webhook;
  const posted = await postWebhook({ target, secrets, ...delivery }, { policy, clock, signal });
  // We are stopping: nothing was decided, and another process posts it again.
  if (signal.aborted && posted.attempt.status === null) return 'taken';
  const times = { nowMs: clock.nowMs(), random: deps.random() };
  counts.countAttempt(posted.attempt);
  if (wasTaken(posted.attempt)) counts.observeTold(lane, times.nowMs - delivery.atMs);
  // What is one entry of the log cannot be cut.
  const isCut = claimed.most === undefined || delivery.changes <= claimed.most;
  const isHalved = posted.attempt.status === TOO_LARGE && delivery.changes > 1 && isCut;
  const outcome: BreakerOutcome = isHalved
    ? { status: 'active', breaker: {} }
    : nextBreaker(taken.breaker, posted, times);
  const state = stateAfter(claimed, posted, isHalved ? Math.floor(delivery.changes / 2) : undefined);
  if (!(await settleDelivery(store, taken, lane, { state, attempt: posted.attempt, outcome }))) return 'taken';
  return outcome.status === 'active' ? 'more' : 'waiting';
}

type Claimed = LaneState & { claim: NonNullable<LaneState['claim']> };

async function claim(
  { store, feed }: DeliverDeps,
  { webhook, taken, lane }: { webhook: Webhook; taken: TakenWebhook; lane: Lane },
): Promise<Claimed | 'quiet' | 'taken'> {
  const state = taken.lanes[lane];
  if (state.claim) return state as Claimed;
  const to = await feed.findEnd(webhook, lane, { after: state.cursor, most: state.most ?? WEBHOOK_LIMITS.maxChanges });
  if (to === undefined) return 'quiet';
  const claimed: Claimed = { ...state, claim: { to, refusals: 0 } };
  return (await claimDelivery(store, taken, lane, claimed)) ? claimed : 'taken';
}

/** After requests that were too large they grow again, twofold with each that is taken. */
function stateAfter({ cursor, claim, most }: Claimed, { attempt }: PostedWebhook, half: number | undefined): LaneState {
  if (half !== undefined) return { cursor, most: half };
  if (wasTaken(attempt)) {
    const isSmall = most !== undefined && most * 2 < WEBHOOK_LIMITS.maxChanges;
    return { cursor: claim.to, ...(isSmall && { most: most * 2 }) };
  }
  const refusals = claim.refusals + (attempt.status === null ? 0 : 1);
  return { cursor, claim: { to: claim.to, refusals }, ...(most !== undefined && { most }) };
}
