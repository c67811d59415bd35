import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { type Breaker, type BreakerOutcome, longestAsked, nextBreaker } from '@gateway/contracts/webhooks/breaker';
import type { WebhookAttempt } from '@gateway/contracts/webhooks/webhook';
import type { KeptConnections } from '@gateway/egress/connections/kept-connections';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { type PostedWebhook, postWebhook } from '@gateway/egress/post-webhook';
import type { ByteBudget } from '@gateway/runtime/bytes/byte-budget';
import type { Clock } from '@gateway/runtime/clock';
import type { Connections } from '@gateway/runtime/redis/server-of';
import type { Store } from '@gateway/store/core/store';
import type { GapCause } from '@gateway/store/events/reading/gaps';
import type { TakenWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import type { Lane, TellLane } from '@gateway/store/webhooks/delivering/lanes';
import type { WebhookOwner } from '@gateway/store/webhooks/delivering/owners';
import type { Webhook } from '@gateway/store/webhooks/webhooks';
import type PQueue from 'p-queue';
import { isLate } from './failing-claims.js';
import type { Delivery, Feed } from './feed.js';
import type { PostedRanges } from './posted-ranges.js';
import type { FarLanes, LongWays } from './turns/long-ways.js';

/** Who counts what is done. */
export interface DeliveryCounts {
  countAttempt(attempt: WebhookAttempt): void;
  /** An endpoint took an event so long after it happened. */
  observeTold(lane: Lane, ms: number): void;
  countGap(cause: GapCause): void;
  /** An endpoint took a message without its content, for which there was no room. */
  countLostContent(): void;
}

/** What is known of an endpoint from one look to the next. */
interface KnownEndpoint extends FarLanes {
  /** As it was read last. */
  webhook?: Webhook | undefined;
  /** What waits for its time is in the feed, which knows when that is. */
  onlyGathers?: boolean;
  /** When it was looked last whether what is put aside waits for too long. */
  sawWaitsMs?: number;
  /** In the last look. */
  wasAsked?: boolean;
}

export interface DeliverDeps {
  store: Store;
  counts: DeliveryCounts;
  feed: Feed;
  policy: FetchPolicy;
  connections: KeptConnections;
  clock: Clock;
  random(): number;
  signal: AbortSignal;
  posted: PostedRanges;
  longWays: LongWays;
  /** For what is posted: its bytes, and what they are made of. */
  memory: ByteBudget;
  owner: WebhookOwner;
  known: KnownEndpoint;
  /** Something has happened in the workspace since. */
  untilNews(): Promise<void>;
  /** For so long one request of a lane follows another without a new look: each is claimed and settled for the endpoint as it is. Default: each has its look. */
  goesOnMs?: number;
  /** Is told when one follows so. */
  onNext?(): void;
}

/** Of one lane. `later`: it posted nothing, as its time has not come. `quiet`: there is nothing. */
export type LaneOutcome = 'more' | 'waiting' | 'later' | 'quiet' | 'taken';

/** One endpoint, while its lanes are looked at once. */
export interface Work {
  deps: DeliverDeps;
  webhook: Webhook;
  taken: TakenWebhook;
  /** The connection by which it was taken: what another master has is asked for with the next look. */
  since: Connections;
  /** Of all lanes together, for requests beside the first one of each. */
  places: PQueue;
  /** Lanes of which a request has failed, until that is written down: beside it no other is begun. */
  failed: Set<TellLane>;
  /** Before the time of an endpoint that fails has come. */
  isEarly?: true;
  /** What a lane has passed, and was refused often, has its turn another time. */
  skipsRefused?: true;
}

/** What an endpoint made of a request, and what that means for the next ones. */
export interface Answered extends PostedWebhook {
  nowMs: number;
  /** Another one failed meanwhile, which is the one that the clock of the endpoint counts. */
  isBeside: boolean;
  outcome: BreakerOutcome;
}

/**
 * Before each request replicas have what is claimed, if they are waited for, and the events that it is about, which lie in the same slot:
 * after a failover the request comes again under its id. Also where the claim was there already, as its process may have died, or given
 * up waiting. Throws `not_confirmed`.
 */
export function confirmClaim({ deps: { store }, taken: { workspace, id }, since }: Work): Promise<void> {
  return store.confirmWrites(workspaceKeys(store.space, workspace).webhook(id), since);
}

/** Of its connections. */
export const keeperOf = ({ workspace, id }: Pick<TakenWebhook, 'workspace' | 'id'>): string => `${workspace}/${id}`;

/** `undefined`: we are stopping; nothing was decided, and another process posts it again. */
export async function post({ deps, webhook, taken }: Work, delivery: Delivery): Promise<Answered | undefined> {
  const { policy, connections, clock, signal } = deps;
  const { target, secrets, revision, settings } = webhook;
  const keep = { connections, keeper: { name: keeperOf(taken), revision, most: settings.concurrency } };
  deps.known.wasAsked = true;
  // What comes of another lane meanwhile changes it.
  const { failures } = taken.breaker;
  const posted = await postWebhook({ target, secrets, ...delivery }, { policy, clock, signal, keep });
  if (signal.aborted && posted.attempt.status === null) return undefined;
  const nowMs = clock.nowMs();
  deps.counts.countAttempt(posted.attempt);
  const breaker = asBegun(taken.breaker, failures);
  const isBeside = (taken.breaker.failures ?? 0) > (failures ?? 0);
  const random = isLate(taken) ? late(deps.random()) : deps.random();
  return { ...posted, nowMs, isBeside, outcome: nextBreaker(breaker, posted, { nowMs, random }) };
}

/** Where more were under way when an endpoint began to fail, its clock makes up for that in a day: of 15 min +- 20 % it takes the last eighth. */
const late = (random: number) => 1 - random / 8;

/** Requests that were under way at the same time fail once, on the one clock of their endpoint. */
function asBegun({ failures = 0, ...breaker }: Breaker, failuresBefore = 0): Breaker {
  const counted = Math.min(failures, failuresBefore);
  return { ...breaker, ...(counted > 0 && { failures: counted }) };
}

/**
 * When what was posted may be posted again: as soon as the endpoint allows, whatever else it takes meanwhile. Empty: by its own clocks.
 * @param leastMs from now on.
 */
export function pausing({ retryAfterMs = 0, nowMs }: Answered, leastMs = 0): { notBeforeMs?: number } {
  const pauseMs = Math.max(leastMs, longestAsked(retryAfterMs));
  return pauseMs > 0 ? { notBeforeMs: nowMs + pauseMs } : {};
}

export const GONE = 410;
export const TOO_LARGE = 413;

/** It had an answer, and that was none to the endpoint as a whole. */
export function wasRefused({ attempt: { status } }: PostedWebhook): boolean {
  return status !== null && (status < 200 || status >= 300) && status !== GONE;
}

/** No connection, or no answer in time: it may have been taken. */
export function wasSilent({ attempt: { status } }: PostedWebhook): boolean {
  return status === null;
}
