import type { DeviceAddress, DeviceId } from '@gateway/contracts/ids';
import { hasShard, type ShardSet, shardOf, toShardSet } from '@gateway/contracts/shards';
import { type AwayShards, ShardsAwayError } from '@gateway/store/core/away/away-shards';
import type { Store } from '@gateway/store/core/store';

const addressOf = (device: DeviceId) => ({ workspace: 'main', device });

/** Devices whose shards cannot be read for now, as if their node of a Cluster were away: none at first. */
export function useAwayDevices(space: { store: Store }): Set<DeviceId> {
  const away = new Set<DeviceId>();
  const shards = () => [...away].map((device) => shardOf(addressOf(device)));
  const fake: Pick<AwayShards, 'areAway' | 'read'> = {
    areAway: (set: ShardSet) => shards().some((shard) => hasShard(set, shard)),
    async read<T>(address: DeviceAddress, work: () => Promise<T>) {
      if (shards().includes(shardOf(address))) throw new ShardsAwayError(toShardSet(shards()));
      return work();
    },
  };
  let real: AwayShards;
  beforeEach(() => {
    away.clear();
    real = space.store.awayShards;
    Object.assign(space.store, { awayShards: fake });
  });
  afterEach(() => {
    Object.assign(space.store, { awayShards: real });
  });
  return away;
}
