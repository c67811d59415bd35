import { CLOCKS_DIFFER_MS } from '@gateway/contracts/events/entry';
import type { ShardFilter, ShardSet } from '@gateway/contracts/shards';
import type { EventTimes } from '@gateway/contracts/webhooks/webhook';
import type { ToldGapCause } from '@gateway/store/events/reading/gaps';
import type { EventFilter } from '@gateway/store/events/render-events';
import type { AskedUpTo, TellLane } from '@gateway/store/webhooks/delivering/lanes';
import type { ParkedEvent } from '@gateway/store/webhooks/delivering/parked/parked';
import type { Webhook } from '@gateway/store/webhooks/webhooks';

/** An endpoint, as a lane tells it: of a replay only what happened in these times. */
export interface ToldWebhook extends Webhook {
  times?: EventTimes;
  /** While the node of some is away. */
  shards?: ShardFilter;
}

/** What happened before the endpoint was made, and lay in an outbox then, is only told where it is asked for. */
export function isFor({ times, createdAtMs, tellsAll }: ToldWebhook, lane: TellLane, atMs: number): boolean {
  if (times) return atMs >= times.fromMs && atMs < times.beforeMs;
  return lane === 'replay' || tellsAll === true || atMs >= createdAtMs - CLOCKS_DIFFER_MS;
}

export const filterOf = ({ settings: { types, devices }, shards }: ToldWebhook): EventFilter => ({
  types,
  ...(devices && { devices }),
  ...(shards && { shards }),
});

/** One request. */
export interface Delivery {
  /** `webhook-id`, of what is in it: the same whenever it is packed again. */
  id: string;
  body: Buffer;
  /** When its first event happened. */
  atMs: number;
  /** What a person wrote had to go for room before this was packed. */
  lostContent?: true;
}

/** One event, or one change of `messages.updated`. */
export interface Told {
  parks: ParkedEvent;
  /** What people wrote in it takes so much memory until it is told. */
  bytes?: number;
  /** That something is missing, and why, if no one knew before. */
  gap?: ToldGapCause;
  /** Where a lane is that has been told this, what came before it, and what comes with it. */
  to: string;
}

/** Of what was put aside. */
export type ToldAgain<T extends Told = Told> = T & {
  /** Among what is read with it: in the order of the log. */
  place: number;
};

export interface FeedRange {
  after: string;
  asked?: readonly AskedUpTo[] | undefined;
  /** Changes in one request. */
  most: number;
  /** Behind this nothing is looked for. */
  upTo?: string | undefined;
  /** So many events that are told alone, each in a request of its own. Default 1. */
  alone?: number;
}

/**
 * The log, as one endpoint is told of it. The same is read and packed each time. What reads what is told throws `ShardsAwayError` where that
 * lies on a node of Redis that is away.
 */
export interface Feed<T extends Told = Told> {
  /**
   * Where the next request of a lane ends, with `most` changes in it or fewer; `later` while what there is waits for its time,
   * `undefined` when there is nothing. Never ends where it begins. `entries`: how many of the log were looked at for it.
   */
  findEnd(
    webhook: ToldWebhook,
    lane: TellLane,
    range: FeedRange,
  ): Promise<{ to: string; entries?: number } | 'later' | undefined>;
  /** What in it is for this endpoint. */
  read(
    webhook: ToldWebhook,
    lane: TellLane,
    range: { after: string; to: string; asked?: readonly AskedUpTo[] | undefined },
  ): Promise<T[]>;
  /** Of which shards that is. */
  findShards(webhook: ToldWebhook, lane: TellLane, range: { after: string; to: string }): Promise<ShardSet>;
  /**
   * What was put aside; if other types are asked for since, a change may be told alone now that was to be told with others, and the other
   * way round. `gone`: the log has it no more, or what it tells of is gone; `undefined`: it is not for this endpoint any more.
   */
  readAgain(webhook: Webhook, events: readonly ParkedEvent[]): Promise<(ToldAgain<T> | 'gone' | undefined)[]>;
  /** Of which shard each is that was put aside. */
  findShardsOf(events: readonly ParkedEvent[]): Promise<number[]>;
  /** Of whom it tells: of what has the same key the order holds. No one learns from it who that is. */
  keyOf(lane: TellLane, told: T): string;
  /** The key that it has once the person is forgotten: of this alone. */
  keyOfForgotten(lane: TellLane, told: T): string;
  /** Of a change of someone who is forgotten: what they were told before may be put aside under these ids. */
  idsOfForgotten(told: T): string[];
  /** From now on it has this key. */
  setKey(lane: TellLane, told: T, key: string): void;
  /** One event that is told alone, or some changes. */
  pack(webhook: Webhook, told: readonly T[]): Delivery | Promise<Delivery>;
  /** That so many events that were put aside are lost. */
  packLost(webhook: Webhook, gap: { lost: number; atMs: number }): Delivery;
}
