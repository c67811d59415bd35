import type { Workspace } from '@gateway/contracts/ids';
import { SHARDS, shardOf } from '@gateway/contracts/shards';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { DoorbellListener } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { lookAtShard, type SeenDevice } from '@gateway/store/fleet/shards/look-at-shard';

/** Every shard is looked at this often, called or not: it finds what a lost doorbell would have told. */
const ROUND_MS = 30_000;

export interface ShardWatchDeps {
  store: Store;
  logger: Logger;
  doorbells: DoorbellListener;
  workspace: Workspace;
  /** What was seen in a shard, of this workspace: all that there is. Must not throw. */
  onSeen(devices: readonly SeenDevice[], shard: number): void;
  /** Default 30 s. */
  roundMs?: number;
}

/**
 * Tells one process what becomes of the devices of its workspace, without asking for each: it looks at a shard when one of
 * its devices calls, and at one after the other all the time. An idle fleet costs two commands a second, however large.
 */
export class ShardWatch {
  private readonly looks = new Map<number, Promise<void>>();
  /** Shards that called during a look: what they called for may have come after the read. */
  private readonly lookAgain = new Set<number>();
  private readonly stopListening: (() => void)[];
  private readonly timer: NodeJS.Timeout;
  private next = 0;
  private stopped = false;

  constructor(private readonly deps: ShardWatchDeps) {
    const { doorbells, workspace, roundMs = ROUND_MS } = deps;
    this.stopListening = [
      doorbells.on((bell) => {
        const concernsUs = bell.topic === 'desired' || bell.topic === 'owner';
        if (concernsUs && bell.workspace === workspace) this.look(shardOf(bell));
      }),
      doorbells.onGap(() => this.lookAtAll()),
    ];
    this.timer = setInterval(() => this.look(this.next++ % SHARDS), roundMs / SHARDS);
    this.lookAtAll();
  }

  /** Looks at a shard soon. Looks that are asked for meanwhile are one. */
  look(shard: number): void {
    if (this.stopped) return;
    if (this.looks.has(shard)) this.lookAgain.add(shard);
    else this.looks.set(shard, this.lookUntilQuiet(shard));
  }

  lookAtAll(): void {
    for (let shard = 0; shard < SHARDS; shard++) this.look(shard);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    for (const stop of this.stopListening) stop();
    await Promise.all(this.looks.values());
  }

  private async lookUntilQuiet(shard: number): Promise<void> {
    const { store, workspace, logger, onSeen } = this.deps;
    do {
      this.lookAgain.delete(shard);
      try {
        const seen = await lookAtShard(store, shard);
        if (!this.stopped)
          onSeen(
            seen.filter(({ address }) => address.workspace === workspace),
            shard,
          );
      } catch (thrown) {
        logger.warn('look at a shard failed', { shard, error: toError(thrown) });
      }
    } while (this.lookAgain.has(shard) && !this.stopped);
    this.looks.delete(shard);
  }
}
