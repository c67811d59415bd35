import type { Clock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import { isNamedByMostSentinels, sentinelsOf } from '@gateway/runtime/redis/sentinels/sentinel-connector';
import type { Store } from '@gateway/store/core/store';

export interface KeptClaimsDeps {
  store: Pick<Store, 'confirmWrites'>;
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
  /** Its master was not replaced in all this time: only replicas are away. */
  isOver: boolean;
}

/**
 * Whether claims outlive the master that took them. The next master knows nothing of one that is lost, and cancels what a phone shows by
 * then. So where replicas are waited for no message goes out before they have its claim, unless they have been away for longer than a
 * failover takes.
 */
export class KeptClaims {
  /** Of shards, by their part of a key: one may be about to move to another master. */
  private readonly doubts = new Map<string, Doubt>();

  constructor(private readonly deps: KeptClaimsDeps) {}

  /** For how many ms nothing is to be claimed for a device with this key. */
  async restMs(key: string): Promise<number> {
    const doubt = this.doubtOf(key);
    if (!doubt) return 0;
    const nowMs = this.deps.clock.monotonicMs();
    const ageMs = nowMs - doubt.lookedAtMs;
    // Replicas may have been back meanwhile.
    if (ageMs >= FRESH_MS) Object.assign(doubt, { sinceMs: nowMs, isOver: false });
    if (ageMs >= LOOK_MS) doubt.looking ??= this.look(key, doubt);
    if (!doubt.isOver) await doubt.looking;
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
    return this.doubts.get(shardOf(key));
  }

  private begin(key: string): void {
    if (this.doubtOf(key)) return;
    const { clock, logger } = this.deps;
    const nowMs = clock.monotonicMs();
    if (this.doubts.size === 0)
      logger.warn('replicas of Redis do not confirm claims: their devices send nothing meanwhile');
    this.doubts.set(shardOf(key), { sinceMs: nowMs, lookedAtMs: nowMs, looking: undefined, isOver: false });
  }

  private async look(key: string, doubt: Doubt): Promise<void> {
    const { store, isNamedByMost, clock, logger } = this.deps;
    try {
      await store.confirmWrites(key);
      this.doubts.delete(shardOf(key));
      if (this.doubts.size === 0) logger.info('replicas of Redis confirm claims again');
    } catch {
      const isLong = clock.monotonicMs() - doubt.sinceMs >= REPLACED_MS;
      const isOver = isLong && (await isNamedByMost().catch(() => false));
      Object.assign(doubt, { isOver, lookedAtMs: clock.monotonicMs(), looking: undefined });
    }
  }
}

const shardOf = (key: string) => /\{[^}]+\}/.exec(key)![0];

/** Without `REDIS_WAIT_REPLICAS` the reply of the master is enough. */
export function keptClaimsOf({ store, ...deps }: Omit<KeptClaimsDeps, 'isNamedByMost' | 'store'> & { store: Store }) {
  if (!store.asksReplicas) return undefined;
  // A node of a Cluster knows by itself, and a single address says nothing of who stands behind it.
  const isNamedByMost = async () => sentinelsOf(store.redis).length === 0 || isNamedByMostSentinels(store.redis);
  return new KeptClaims({ ...deps, store, isNamedByMost });
}
