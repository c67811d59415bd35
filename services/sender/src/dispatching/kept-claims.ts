import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { isNamedByMostSentinels, sentinelsOf } from '@gateway/runtime/redis/sentinels/sentinel-connector';
import { type Connections, connectionsTo, serverOf } from '@gateway/runtime/redis/server-of';
import type { Store } from '@gateway/store/core/store';

export interface KeptClaimsDeps {
  /** Resolves once replicas have what was written in the slot of this key until now, by one of these connections. */
  confirmWrites: (key: string, since?: Connections) => Promise<void>;
  /** Those that lead to the masters of these keys now. */
  connectionsTo: (keys: readonly string[]) => Promise<Connections>;
  /** To which server the slot of this key is written now; `undefined` while there is none. */
  serverOf: (key: string) => Promise<string | undefined>;
  /** Whether no other master can be in its place in the next moment. */
  isNamedByMost: () => Promise<boolean>;
  clock: Pick<Clock, 'monotonicMs'>;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Default 500 ms. For tests. */
  lookMs?: number;
}

/** Between questions whether replicas are back. */
const LOOK_MS = 500;
/** A look takes three seconds at most: in a process that stood still longer nothing is known of what happened meanwhile. */
const STOOD_STILL_MS = 5_000;
/**
 * A master that is cut off from its replicas has been replaced by then, or takes no more writes: Sentinels give it up after 30 s by
 * default, and the node of a Cluster stops when it has not reached most others for 15 to 22 s.
 */
const REPLACED_MS = 60_000;

interface Doubt {
  key: string;
  server: string | undefined;
  /** Since when that server has taken what replicas do not have. */
  sinceMs: number;
  /** It was not replaced in all this time: only replicas are away. */
  isOver: boolean;
}

/**
 * Whether claims outlive the master that took them. The next master knows nothing of one that is lost, and cancels what a phone shows by
 * then. So where replicas are waited for no message goes out before they have its claim, unless they have been away for longer than a
 * failover takes.
 */
export class KeptClaims {
  /** By shard: the slot of one may be about to move to another master. */
  private readonly doubts = new Map<string, Doubt>();
  private isLooking = false;
  private readonly stopping = new AbortController();

  constructor(private readonly deps: KeptClaimsDeps) {}

  stop(): void {
    this.stopping.abort();
  }

  /** For how many ms nothing is to be claimed that needs all of these keys. */
  restMs(keys: readonly string[]): number {
    return keys.some((key) => this.doubts.get(shardOf(key))?.isOver === false) ? this.lookMs : 0;
  }

  /** For `areKept`, before anything is written or read. */
  since(keys: readonly string[]): Promise<Connections> {
    return this.deps.connectionsTo(keys).catch(() => new Map());
  }

  /**
   * Whether all that was written, or read, in the slots of these keys is kept. If not, it must have no effect.
   * @param since the connections by which that was done. Where one of them leads to another master by now, it is not known.
   */
  async areKept(keys: readonly string[], since: Connections): Promise<boolean> {
    return (await Promise.all(keys.map((key) => this.isKept(key, since)))).every(Boolean);
  }

  private async isKept(key: string, since: Connections): Promise<boolean> {
    const doubt = this.doubts.get(shardOf(key));
    if (doubt) return doubt.isOver;
    try {
      await this.deps.confirmWrites(key, since);
      return true;
    } catch {
      this.begin(key);
      return false;
    }
  }

  private get lookMs(): number {
    return this.deps.lookMs ?? LOOK_MS;
  }

  private begin(key: string): void {
    const { clock, logger } = this.deps;
    const shard = shardOf(key);
    if (this.doubts.has(shard)) return;
    this.doubts.set(shard, { key, server: undefined, sinceMs: clock.monotonicMs(), isOver: false });
    if (this.isLooking) return;
    logger.warn('replicas of Redis do not confirm claims: their devices send nothing meanwhile');
    this.isLooking = true;
    void this.lookUntilKept();
  }

  /** All shards at a time, whichever devices ask: most ask seldom. Never rejects. */
  private async lookUntilKept(): Promise<void> {
    const { clock, logger } = this.deps;
    let lookedAtMs = clock.monotonicMs();
    while (this.doubts.size > 0) {
      await delay(this.lookMs, undefined, { ref: false, signal: this.stopping.signal }).catch(() => {});
      if (this.stopping.signal.aborted) return;
      const nowMs = clock.monotonicMs();
      if (nowMs - lookedAtMs > STOOD_STILL_MS) for (const doubt of this.doubts.values()) restart(doubt, nowMs);
      lookedAtMs = nowMs;
      await this.look();
    }
    this.isLooking = false;
    logger.info('replicas of Redis confirm claims again');
  }

  private async look(): Promise<void> {
    const { confirmWrites, isNamedByMost, clock } = this.deps;
    const confirm = async ([shard, doubt]: [string, Doubt]) => {
      await this.noteServer(doubt);
      await confirmWrites(doubt.key).then(
        () => this.doubts.delete(shard),
        () => {},
      );
    };
    await Promise.all([...this.doubts].map(confirm));
    const isLong = ({ sinceMs }: Doubt) => clock.monotonicMs() - sinceMs >= REPLACED_MS;
    const long = [...this.doubts.values()].filter(isLong);
    const isOver = long.length > 0 && (await isNamedByMost().catch(() => false));
    // They may have been asked about the next one.
    await Promise.all(long.map((doubt) => this.noteServer(doubt)));
    for (const doubt of long.filter(isLong)) doubt.isOver = isOver;
  }

  /** Another one has not stood for that long. */
  private async noteServer(doubt: Doubt): Promise<void> {
    const { serverOf, clock } = this.deps;
    const server = await serverOf(doubt.key).catch(() => undefined);
    if (server === undefined || server === doubt.server) return;
    if (doubt.server !== undefined) restart(doubt, clock.monotonicMs());
    doubt.server = server;
  }
}

function restart(doubt: Doubt, nowMs: number): void {
  Object.assign(doubt, { sinceMs: nowMs, isOver: false });
}

const shardOf = (key: string) => /\{[^}]+\}/.exec(key)![0];

/** `undefined` without `REDIS_WAIT_REPLICAS`: then the reply of the master is enough. */
export function keptClaimsOf(store: Store, deps: Pick<KeptClaimsDeps, 'clock' | 'logger'>): KeptClaims | undefined {
  if (!store.asksReplicas) return undefined;
  const { redis, confirmWrites } = store;
  return new KeptClaims({
    ...{ ...deps, confirmWrites },
    connectionsTo: async (keys) =>
      connectionsTo([...new Set(keys.map((key) => masterOfKey(redis, key)))], { asksHistory: false }),
    serverOf: async (key) => serverOf(masterOfKey(redis, key)),
    // A node of a Cluster knows by itself, and a single address says nothing of who stands behind it.
    isNamedByMost: async () => sentinelsOf(redis).length === 0 || isNamedByMostSentinels(redis, { isReached: true }),
  });
}
