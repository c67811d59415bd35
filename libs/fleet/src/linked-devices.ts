import { type DeviceAddress, nameOfDevice } from '@gateway/contracts/ids';
import { SHARDS, shardOf } from '@gateway/contracts/shards';
import type { Clock } from '@gateway/runtime/clock';
import type { SeenDevice } from '@gateway/store/fleet/shards/look-at-shard';

interface Linked {
  address: DeviceAddress;
  owner: string | undefined;
  /** Since when it has been seen without an owner, by the monotonic clock. */
  orphanSinceMs: number | undefined;
}

/** A process that is to claim a device has it by then, unless it is busy, or ill. */
const LATE_MS = 5_000;
/** Of devices in doubtful shards: some 10 ms of Redis. */
const MOST_LOOKED_AT = 2_000;

/** The devices of all workspaces that are to be linked, each with the process that owns it, as they were seen last. */
export class LinkedDevices {
  /** By `workspace/device`. */
  private readonly shards: Map<string, Linked>[] = Array.from({ length: SHARDS }, () => new Map());

  /** Where `doubtfulShards` goes on. */
  private nextDoubtful = 0;
  /** That were seen as a whole. */
  private readonly complete = new Set<number>();

  constructor(private readonly clock: Clock) {}

  /**
   * @param seen of a shard: all that there is, or of those that were `asked` for.
   * @returns whether there are devices without an owner among them.
   */
  keep(seen: readonly SeenDevice[], shard: number, asked?: ReadonlySet<string>): boolean {
    const before = this.shards[shard]!;
    const linked: Map<string, Linked> = asked ? before : new Map();
    const gone = new Set(asked);
    let hasOrphan = false;
    for (const { address, want, owner } of seen) {
      if (want !== 'linked') continue;
      const name = nameOfDevice(address);
      const orphanSinceMs = owner ? undefined : (before.get(name)?.orphanSinceMs ?? this.clock.monotonicMs());
      linked.set(name, { address, owner, orphanSinceMs });
      gone.delete(name);
      hasOrphan ||= !owner;
    }
    for (const name of gone) linked.delete(name);
    this.shards[shard] = linked;
    if (!asked) this.complete.add(shard);
    return hasOrphan;
  }

  /** Whether all shards have been seen. */
  get isComplete(): boolean {
    return this.complete.size === SHARDS;
  }

  /** How many there are. */
  get size(): number {
    return this.shards.reduce((sum, shard) => sum + shard.size, 0);
  }

  /** Without an owner; in much the same order in all processes that have seen the same. */
  orphans(): DeviceAddress[] {
    const orphans: DeviceAddress[] = [];
    for (const shard of this.shards) {
      for (const { address, owner } of shard.values()) if (!owner) orphans.push(address);
    }
    return orphans;
  }

  /** Whether a device has been without an owner for a while. */
  isLate(address: DeviceAddress): boolean {
    const sinceMs = this.find(address)?.orphanSinceMs;
    return sinceMs !== undefined && this.clock.monotonicMs() - sinceMs >= LATE_MS;
  }

  /** `undefined`: none, or it is not to be linked. */
  ownerOf(address: DeviceAddress): string | undefined {
    return this.find(address)?.owner;
  }

  /**
   * Shards with a device that has no owner, or one that is none of these: no doorbell tells who has claimed it, or that it died.
   * Of so many that they have more than `most` devices the next ones at each call, and one at least: to look at them costs for
   * each device, and in a fleet without owners that is all of them.
   */
  doubtfulShards(members: ReadonlySet<string>, most = MOST_LOOKED_AT): number[] {
    const isDoubtful = ({ owner }: Linked) => owner === undefined || !members.has(owner);
    const chosen: number[] = [];
    let devices = 0;
    for (let passed = 0; passed < SHARDS && devices < most; passed++) {
      const index = this.nextDoubtful++ % SHARDS;
      const shard = [...this.shards[index]!.values()];
      if (!shard.some(isDoubtful)) continue;
      chosen.push(index);
      devices += shard.length;
    }
    return chosen;
  }

  /** What this process did is known without another look. */
  noteOwner(address: DeviceAddress, owner: string): void {
    this.shards[shardOf(address)]!.set(nameOfDevice(address), { address, owner, orphanSinceMs: undefined });
  }

  private find(address: DeviceAddress): Linked | undefined {
    return this.shards[shardOf(address)]!.get(nameOfDevice(address));
  }
}
