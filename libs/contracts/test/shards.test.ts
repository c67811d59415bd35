import { hasShard, narrowed, SHARDS, type ShardFilter, toShardSet } from '@gateway/contracts/shards';
import { expect } from 'chai';

/** Those of no device, too. */
const ALL = Array.from({ length: SHARDS + 1 }, (_, shard) => shard);

describe('two filters of shards', () => {
  const some = toShardSet([0, 3, 4, 17, 63, 64]);
  const others = toShardSet([3, 16, 17, 62]);
  const filters: (ShardFilter | undefined)[] = [
    undefined,
    { only: some },
    { only: others },
    { without: some },
    { without: others },
  ];
  const letsThrough = (filter: ShardFilter | undefined, shard: number) =>
    !filter || ('only' in filter ? hasShard(filter.only, shard) : !hasShard(filter.without, shard));

  for (const one of filters) {
    for (const other of filters) {
      it(`let through what both do: ${JSON.stringify(one)} and ${JSON.stringify(other)}`, () => {
        const both = narrowed(one, other);
        expect(ALL.filter((shard) => letsThrough(both, shard))).to.deep.equal(
          ALL.filter((shard) => letsThrough(one, shard) && letsThrough(other, shard)),
        );
      });
    }
  }
});
