import type { DeviceAddress } from '@gateway/contracts/ids';
import { type KeySpace, shardKeys } from '@gateway/contracts/redis-keys';
import { SHARDS, type ShardSet, shardOf, shardsIn, toShardSet } from '@gateway/contracts/shards';
import { inTime, systemClock } from '@gateway/runtime/clock';
import { GatewayError, toError } from '@gateway/runtime/errors';
import { isRedisAway } from '@gateway/runtime/redis/is-redis-away';
import { isCluster, masterNameOfKey } from '@gateway/runtime/redis/redis-nodes';
import type { Redis } from 'ioredis';

/** A node of a Cluster that has not answered in this time counts as away. */
const PATIENCE_MS = 1_000;
/** An answer may have come while this process did other work. */
const TURN_MS = 50;
/** It is asked again so long after it refused to answer. */
const AGAIN_MS = 1_000;
/** And so long after a question that is not answered yet: until then that is waited for. */
const AGAIN_WHILE_ASKED_MS = 30_000;

/** One that answers later than it has to, but sooner than this, is slow, and no more than that: for a while it is given more time. */
const SLOW_MS = 5_000;
const SLOW_FOR_MS = 30_000;

/** Nothing of these shards can be read for now. */
export class ShardsAwayError extends GatewayError {
  constructor(
    readonly shards: ShardSet,
    cause?: unknown,
  ) {
    super({ code: 'redis_away', message: 'the node of Redis that has this device does not answer', cause });
  }
}

interface AwayNode {
  shards: readonly number[];
  /** Of the clock that only moves forward: who comes then asks it again. */
  againMs: number;
}

interface SlowNode {
  patienceMs: number;
  /** Of the same clock. */
  untilMs: number;
}

/**
 * Which shards lie on nodes of a Redis Cluster that do not answer, as this process found out when it read from them. For who reads of many
 * devices one after the other: what is away is passed, and need not be waited for each time. Of any other Redis nothing is ever away by itself.
 */
export class AwayShards {
  readonly #away = new Map<number, AwayNode>();
  readonly #slow = new Map<number, SlowNode>();

  constructor(
    private readonly redis: Redis,
    private readonly space: KeySpace,
  ) {}

  /** Whether any of them is. */
  areAway(shards: ShardSet): boolean {
    const nowMs = systemClock.monotonicMs();
    return this.#away.size > 0 && shardsIn(shards).some((shard) => nowMs < (this.#away.get(shard)?.againMs ?? 0));
  }

  /**
   * @param work reads of this device alone. Throws `ShardsAwayError` with all that lies on the same node, after a second, or after five where
   * that has been slow.
   */
  async read<T>({ workspace, device }: DeviceAddress, work: () => Promise<T>): Promise<T> {
    if (!isCluster(this.redis)) return work();
    const shard = shardOf({ workspace, device });
    const askedMs = systemClock.monotonicMs();
    const patienceMs = this.#patienceWith(shard, askedMs);
    this.#ask(shard, askedMs + patienceMs + TURN_MS);
    const reading = work();
    try {
      const isThere = (await inTime(reading, patienceMs)) || (await inTime(reading, TURN_MS));
      if (!isThere) throw this.#note(shard, AGAIN_WHILE_ASKED_MS, { reading, askedMs });
    } catch (thrown) {
      if (thrown instanceof ShardsAwayError || !isRedisAway(toError(thrown))) throw thrown;
      throw this.#note(shard, AGAIN_MS);
    }
    if (this.#away.size > 0) this.#forget(this.#away.get(shard));
    this.#noteAnswer([shard], askedMs);
    return reading;
  }

  /** One at a time asks a node again that was away. */
  #ask(shard: number, untilMs: number): void {
    const node = this.#away.get(shard);
    if (!node) return;
    if (systemClock.monotonicMs() < node.againMs) throw new ShardsAwayError(toShardSet(node.shards));
    node.againMs = untilMs;
  }

  #patienceWith(shard: number, nowMs: number): number {
    const slow = this.#slow.get(shard);
    return slow && nowMs < slow.untilMs ? slow.patienceMs : PATIENCE_MS;
  }

  /** What takes longer than one waits for it would never come to an end. */
  #noteAnswer(shards: readonly number[], askedMs: number): void {
    const nowMs = systemClock.monotonicMs();
    const tookMs = nowMs - askedMs;
    if (tookMs < PATIENCE_MS || tookMs > SLOW_MS) return;
    const slow = { patienceMs: Math.min(2 * tookMs, SLOW_MS), untilMs: nowMs + SLOW_FOR_MS };
    for (const each of shards) this.#slow.set(each, slow);
  }

  #note(
    shard: number,
    forMs: number,
    { reading, askedMs = 0 }: { reading?: Promise<unknown>; askedMs?: number } = {},
  ): ShardsAwayError {
    const nameOf = (each: number) => masterNameOfKey(this.redis, shardKeys(this.space, each).devices);
    const name = nameOf(shard);
    const shards = Array.from({ length: SHARDS }, (_, each) => each).filter((each) => nameOf(each) === name);
    const node: AwayNode = { shards, againMs: systemClock.monotonicMs() + forMs };
    for (const each of shards) this.#away.set(each, node);
    reading?.then(
      () => {
        this.#forget(node);
        this.#noteAnswer(shards, askedMs);
      },
      () => {
        node.againMs = Math.min(node.againMs, systemClock.monotonicMs() + AGAIN_MS);
      },
    );
    return new ShardsAwayError(toShardSet(shards));
  }

  #forget(node: AwayNode | undefined): void {
    for (const shard of node?.shards ?? []) if (this.#away.get(shard) === node) this.#away.delete(shard);
  }
}
