import { type DeviceAddress, deviceDigest, nameOfDevice } from './ids.js';

/**
 * Devices are spread over this many shards, permanently: the keys of a shard lie in one slot of Redis Cluster, so that one
 * step may change a device and what its shard knows of it.
 */
export const SHARDS = 64;

const known = new Map<string, number>();
const MAX_KNOWN = 20_000;

/** 0 to 63. The last bits of the device's short id, which message ids carry. */
export function shardOf(address: DeviceAddress): number {
  const name = nameOfDevice(address);
  let shard = known.get(name);
  if (shard === undefined) {
    shard = deviceDigest(address)[4]! % SHARDS;
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(name, shard);
  }
  return shard;
}
