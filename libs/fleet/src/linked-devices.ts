import type { DeviceId } from '@gateway/contracts/ids';
import { SHARDS } from '@gateway/contracts/shards';
import type { Clock } from '@gateway/runtime/clock';
import type { SeenDevice } from '@gateway/store/fleet/shards/look-at-shard';

interface Linked {
  owner: string | undefined;
  /** Since when it has been seen without an owner, by the monotonic clock. */
  orphanSinceMs: number | undefined;
}

/** A process that is to claim a device has it by then, unless it is busy, or ill. */
const LATE_MS = 5_000;

/** The devices of a workspace that are to be linked, each with the process that owns it, as they were seen last. */
export class LinkedDevices {
  private readonly shards: Map<DeviceId, Linked>[] = Array.from({ length: SHARDS }, () => new Map());

  constructor(private readonly clock: Clock) {}

  /** @returns whether there are devices without an owner among them. */
  keep(seen: readonly SeenDevice[], shard: number): boolean {
    const before = this.shards[shard]!;
    const linked = new Map<DeviceId, Linked>();
    for (const { address, want, owner } of seen) {
      if (want !== 'linked') continue;
      const sinceMs = before.get(address.device)?.orphanSinceMs ?? this.clock.monotonicMs();
      linked.set(address.device, { owner, orphanSinceMs: owner ? undefined : sinceMs });
    }
    this.shards[shard] = linked;
    return [...linked.values()].some(({ owner }) => !owner);
  }

  /** How many there are. */
  get size(): number {
    return this.shards.reduce((sum, shard) => sum + shard.size, 0);
  }

  /** Without an owner; in the same order in all processes that have seen the same. */
  orphans(): DeviceId[] {
    const orphans: DeviceId[] = [];
    for (const shard of this.shards) {
      for (const [device, { owner }] of shard) if (!owner) orphans.push(device);
    }
    return orphans;
  }

  /** Whether a device has been without an owner for a while. */
  isLate(device: DeviceId, shard: number): boolean {
    const sinceMs = this.shards[shard]!.get(device)?.orphanSinceMs;
    return sinceMs !== undefined && this.clock.monotonicMs() - sinceMs >= LATE_MS;
  }

  /** `undefined`: none, or it is not to be linked. */
  ownerOf(device: DeviceId, shard: number): string | undefined {
    return this.shards[shard]!.get(device)?.owner;
  }

  /** Shards with a device that has no owner, or one that is none of these: no doorbell tells who has claimed it, or that it died. */
  doubtfulShards(members: ReadonlySet<string>): number[] {
    const isDoubtful = ({ owner }: Linked) => owner === undefined || !members.has(owner);
    return this.shards.flatMap((shard, index) => ([...shard.values()].some(isDoubtful) ? [index] : []));
  }

  /** What this process did is known without another look. */
  noteOwner(device: DeviceId, shard: number, owner: string): void {
    this.shards[shard]!.set(device, { owner, orphanSinceMs: undefined });
  }
}
