import { type DeviceAddress, nameOfDevice } from '@gateway/contracts/ids';
import { SHARDS, shardOf } from '@gateway/contracts/shards';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { DoorbellListener } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { lookAtShard, type SeenDevice } from '@gateway/store/fleet/shards/look-at-shard';

/** Every shard is looked at this often, called or not: it finds what a lost doorbell would have told. */
const ROUND_MS = 30_000;
/** One that calls more often than that is read as a whole. */
const MOST_NAMES = 50;

export interface ShardWatchDeps {
  store: Store;
  logger: Logger;
  doorbells: DoorbellListener;
  /**
   * What was seen in a shard, of all workspaces: all that there is, or of the devices that were `asked` for
   * (`workspace/device`). Must not throw.
   */
  onSeen(devices: readonly SeenDevice[], shard: number, asked?: ReadonlySet<string>): void;
  /** Default 30 s. */
  roundMs?: number;
}

/**
 * Tells one process what becomes of devices, without asking for each all the time: it looks at those that call, and at one
 * shard after the other. An idle fleet costs two commands a second, however large.
 */
export class ShardWatch {
  private readonly looks = new Map<number, Promise<void>>();
  /** What to look at in a shard once its look is over: what it was asked for may have come after the read. */
  private readonly next = new Map<number, Set<string> | 'all'>();
  private readonly stopListening: (() => void)[];
  private readonly timer: NodeJS.Timeout;
  private round = 0;
  private stopped = false;

  constructor(private readonly deps: ShardWatchDeps) {
    const { doorbells, roundMs = ROUND_MS } = deps;
    this.stopListening = [
      doorbells.on((bell) => {
        if (bell.topic === 'desired' || bell.topic === 'owner') this.lookAt(bell);
      }),
      doorbells.onGap(() => this.lookAtAll()),
    ];
    this.timer = setInterval(() => this.look(this.round++ % SHARDS), roundMs / SHARDS);
    this.lookAtAll();
  }

  /** Looks at a shard soon. Looks that are asked for meanwhile are one. */
  look(shard: number): void {
    this.next.set(shard, 'all');
    this.begin(shard);
  }

  /** Looks at one device soon, together with others of its shard that are asked for meanwhile. */
  lookAt(address: DeviceAddress): void {
    const shard = shardOf(address);
    const names = this.next.get(shard) ?? new Set();
    if (names !== 'all') this.next.set(shard, names.size < MOST_NAMES ? names.add(nameOfDevice(address)) : 'all');
    this.begin(shard);
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

  private begin(shard: number): void {
    if (!this.stopped && !this.looks.has(shard)) this.looks.set(shard, this.lookUntilQuiet(shard));
  }

  private async lookUntilQuiet(shard: number): Promise<void> {
    for (let what = this.takeNext(shard); what && !this.stopped; what = this.takeNext(shard)) {
      const asked = what === 'all' ? undefined : what;
      try {
        const seen = await lookAtShard(this.deps.store, shard, asked && [...asked]);
        if (!this.stopped) this.deps.onSeen(seen, shard, asked);
      } catch (thrown) {
        this.deps.logger.warn('look at a shard failed', { shard, error: toError(thrown) });
      }
    }
    this.looks.delete(shard);
  }

  private takeNext(shard: number): Set<string> | 'all' | undefined {
    const what = this.next.get(shard);
    this.next.delete(shard);
    return what;
  }
}
