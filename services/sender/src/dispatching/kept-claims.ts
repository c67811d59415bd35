import type { Clock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { isNamedByMostSentinels, sentinelsOf } from '@gateway/runtime/redis/sentinels/sentinel-connector';
import type { Store } from '@gateway/store/core/store';

export interface KeptClaimsDeps {
  store: Pick<Store, 'redis' | 'confirmWrites'>;
  /** Whether the others still go by the master of this process. */
  isNamedByMost: () => Promise<boolean>;
  clock: Pick<Clock, 'monotonicMs'>;
  logger: Pick<Logger, 'info' | 'warn'>;
}

/** Between questions whether replicas are back. */
const LOOK_MS = 500;
/** So long an answer of the others counts while replicas are away. */
const FRESH_MS = 4 * LOOK_MS;
/**
 * A master that is cut off from its replicas has been replaced by then, or takes no more writes: Sentinels give it up after 30 s by
 * default, and the node of a Cluster stops when it has not reached most others for 15 s.
 */
const REPLACED_MS = 60_000;

interface Doubt {
  sinceMs: number;
  lookedAtMs: number;
  looking: Promise<void> | undefined;
  /** It was not replaced in all this time: only its replicas are away. */
  isOver: boolean;
}

/**
 * Whether claims outlive the master that took them. The next master knows nothing of one that is lost, and cancels what a phone shows by
 * then. So where replicas are waited for no message goes out before they have its claim, unless they have been away for longer than a
 * failover takes.
 */
export class KeptClaims {
  /** Of masters whose replicas have not confirmed. */
  private readonly doubts = new WeakMap<object, Doubt>();

  constructor(private readonly deps: KeptClaimsDeps) {}

  /** For how many ms nothing is to be claimed for a device with this key. */
  async restMs(key: string): Promise<number> {
    const doubt = this.doubtOf(key);
    if (!doubt) return 0;
    const ageMs = this.deps.clock.monotonicMs() - doubt.lookedAtMs;
    if (ageMs >= LOOK_MS) doubt.looking ??= this.look(key, doubt);
    if (!doubt.isOver || ageMs >= FRESH_MS) await doubt.looking;
    return this.doubtOf(key)?.isOver === false ? LOOK_MS : 0;
  }

  /** Whether what was written in the slot of this key is kept. If not, it must have no effect. */
  async areKept(key: string): Promise<boolean> {
    const doubt = this.doubtOf(key);
    if (doubt) return doubt.isOver;
    try {
      await this.deps.store.confirmWrites(key);
      return true;
    } catch {
      this.begin(key);
      return false;
    }
  }

  private doubtOf(key: string): Doubt | undefined {
    return this.doubts.get(this.masterOf(key));
  }

  private masterOf(key: string): object {
    const { redis } = this.deps.store;
    try {
      return masterOfKey(redis, key);
    } catch {
      // None is known: then nothing can be claimed.
      return redis;
    }
  }

  private begin(key: string): void {
    const master = this.masterOf(key);
    if (this.doubts.has(master)) return;
    const nowMs = this.deps.clock.monotonicMs();
    this.doubts.set(master, { sinceMs: nowMs, lookedAtMs: nowMs, looking: undefined, isOver: false });
    this.deps.logger.warn('replicas of Redis do not confirm what is claimed: nothing is sent meanwhile');
  }

  private async look(key: string, doubt: Doubt): Promise<void> {
    const { store, isNamedByMost, clock, logger } = this.deps;
    const master = this.masterOf(key);
    try {
      await store.confirmWrites(key);
      this.doubts.delete(master);
      logger.info('replicas of Redis confirm what is claimed again');
    } catch {
      const isLong = clock.monotonicMs() - doubt.sinceMs >= REPLACED_MS;
      const isOver = isLong && (await isNamedByMost().catch(() => false));
      if (isOver !== doubt.isOver) logger.warn('replicas of Redis are away for long', { sends: isOver });
      Object.assign(doubt, { isOver, lookedAtMs: clock.monotonicMs(), looking: undefined });
    }
  }
}

/** Without `REDIS_WAIT_REPLICAS` the reply of the master is enough. */
export function keptClaimsOf({ store, ...deps }: Omit<KeptClaimsDeps, 'isNamedByMost' | 'store'> & { store: Store }) {
  if (!store.asksReplicas) return undefined;
  // A node of a Cluster knows by itself, and a single address says nothing of who stands behind it.
  const isNamedByMost = async () => sentinelsOf(store.redis).length === 0 || isNamedByMostSentinels(store.redis);
  return new KeptClaims({ ...deps, store, isNamedByMost });
}
