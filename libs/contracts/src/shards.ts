import { type DeviceAddress, type DeviceId, deviceDigest, type Workspace } from './ids.js';

/**
 * Devices are spread over this many shards, permanently: the keys of a shard lie in one slot of Redis Cluster, so that one
 * step may change a device and what its shard knows of it.
 */
export const SHARDS = 64;

/** 0 to 63. The last bits of the device's short id, which message ids carry. */
export function shardOf(address: DeviceAddress): number {
  return deviceDigest(address)[4]! % SHARDS;
}

/** Which shards: 16 hex digits, the last of them for shards 0 to 3; one more before them if what is of no device is in it. */
export type ShardSet = string;

const NO_DEVICE = SHARDS;

/** Where an event belongs. What is of no device, but of the workspace itself, counts as one more shard. */
export function shardOfEvent({ workspace, device }: { workspace: Workspace; device?: DeviceId | undefined }): number {
  return device === undefined ? NO_DEVICE : shardOf({ workspace, device });
}

/** Devices of these shards only; or all that is not of these. */
export type ShardFilter = { only: ShardSet } | { without: ShardSet };

const DIGITS = SHARDS / 4;
export const NO_SHARDS: ShardSet = '0'.repeat(DIGITS);

export function toShardSet(shards: Iterable<number>): ShardSet {
  let bits = 0n;
  for (const shard of shards) bits |= 1n << BigInt(shard);
  return bits.toString(16).padStart(DIGITS, '0');
}

export function hasShard(set: ShardSet, shard: number): boolean {
  return ((Number.parseInt(set.at(-1 - (shard >> 2)) ?? '0', 16) >> (shard & 3)) & 1) === 1;
}

/** In the order of the shards. */
export function shardsIn(set: ShardSet): number[] {
  return Array.from({ length: NO_DEVICE + 1 }, (_, shard) => shard).filter((shard) => hasShard(set, shard));
}

/** Those of all parts together. */
export const allShardsIn = (parts: readonly { shards: ShardSet }[]): ShardSet =>
  toShardSet(parts.flatMap(({ shards }) => shardsIn(shards)));

export const withoutShards = (set: ShardSet, others: ShardSet): ShardSet =>
  toShardSet(shardsIn(set).filter((shard) => !hasShard(others, shard)));

/** What both let through. */
export function narrowed(one: ShardFilter | undefined, other: ShardFilter | undefined): ShardFilter | undefined {
  if (!one || !other) return one ?? other;
  if ('without' in one && 'without' in other)
    return { without: allShardsIn([{ shards: one.without }, { shards: other.without }]) };
  const [{ only }, rest] = 'only' in one ? [one, other] : [other as { only: ShardSet }, one];
  const left = 'without' in rest ? rest.without : withoutShards(only, rest.only);
  return { only: withoutShards(only, left) };
}
