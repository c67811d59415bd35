import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { type BreakerOutcome, nextBreaker } from '@gateway/contracts/webhooks/breaker';
import type { WebhookAttempt } from '@gateway/contracts/webhooks/webhook';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { type PostedWebhook, postWebhook } from '@gateway/egress/post-webhook';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import type { TakenWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import type { Lane } from '@gateway/store/webhooks/delivering/lanes';
import type { WebhookOwner } from '@gateway/store/webhooks/delivering/owners';
import type { Webhook } from '@gateway/store/webhooks/webhooks';
import type { Delivery, Feed } from './feed.js';
import type { PostedRanges } from './posted-ranges.js';

/** Who counts what is done. */
export interface DeliveryCounts {
  countAttempt(attempt: WebhookAttempt): void;
  /** An endpoint took an event so long after it happened. */
  observeTold(lane: Lane, ms: number): void;
  countGap(cause: 'log_gone' | 'parked'): void;
}

export interface DeliverDeps {
  store: Store;
  counts: DeliveryCounts;
  feed: Feed;
  policy: FetchPolicy;
  clock: Clock;
  random(): number;
  signal: AbortSignal;
  posted: PostedRanges;
  owner: WebhookOwner;
}

/** Of one lane. `later`: it posted nothing, as its time has not come. `quiet`: there is nothing. */
export type LaneOutcome = 'more' | 'waiting' | 'later' | 'quiet' | 'taken';

/** One endpoint, while its lanes are looked at once. */
export interface Work {
  deps: DeliverDeps;
  webhook: Webhook;
  taken: TakenWebhook;
}

/** What an endpoint made of a request, and what that means for the next ones. */
export interface Answered extends PostedWebhook {
  nowMs: number;
  outcome: BreakerOutcome;
}

/**
 * Before each request replicas have what is claimed, if they are waited for, and the events that it is about, which lie in the same slot:
 * after a failover the request comes again under its id. Also where the claim was there already, as its process may have died, or given
 * up waiting. Throws `not_confirmed`.
 */
export function confirmClaim({ deps: { store }, taken: { workspace, id } }: Work): Promise<void> {
  return store.confirmWrites(workspaceKeys(store.space, workspace).webhook(id));
}

/** `undefined`: we are stopping; nothing was decided, and another process posts it again. */
export async function post({ deps, webhook, taken }: Work, delivery: Delivery): Promise<Answered | undefined> {
  const { policy, clock, signal } = deps;
  const { target, secrets } = webhook;
  const posted = await postWebhook({ target, secrets, ...delivery }, { policy, clock, signal });
  if (signal.aborted && posted.attempt.status === null) return undefined;
  const nowMs = clock.nowMs();
  deps.counts.countAttempt(posted.attempt);
  return { ...posted, nowMs, outcome: nextBreaker(taken.breaker, posted, { nowMs, random: deps.random() }) };
}

const GONE = 410;

/** It had an answer, and that was none to the endpoint as a whole. */
export function wasRefused({ attempt: { status } }: PostedWebhook): boolean {
  return status !== null && (status < 200 || status >= 300) && status !== GONE;
}
