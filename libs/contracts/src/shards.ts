import { type DeviceAddress, deviceDigest } from './ids.js';

/**
 * Devices are spread over this many shards, permanently: the keys of a shard lie in one slot of Redis Cluster, so that one
 * step may change a device and what its shard knows of it.
 */
export const SHARDS = 64;

/** 0 to 63. The last bits of the device's short id, which message ids carry. */
export function shardOf(address: DeviceAddress): number {
  return deviceDigest(address)[4]! % SHARDS;
}
