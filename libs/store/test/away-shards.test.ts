import { shardOf, shardsIn, toShardSet } from '@gateway/contracts/shards';
import { sleep } from '@gateway/runtime/clock';
import { AwayShards, ShardsAwayError } from '@gateway/store/core/away/away-shards';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { Cluster, type Redis } from 'ioredis';

const SLOTS = 16_384;
const names = Array.from({ length: 100 }, (_, i) => `device-${i}`);

describe('shards on nodes of a Redis Cluster that do not answer', () => {
  const space = { prefix: 'test' };
  const slots = Array.from({ length: SLOTS }, (_, slot) => [slot < SLOTS / 2 ? 'one:1' : 'other:1']);
  const cluster = Object.create(Cluster.prototype, { slots: { value: slots } }) as Redis;
  const at = (device: string) => ({ workspace: 'main', device });
  const setOf = (device: string) => toShardSet([shardOf(at(device))]);
  const neverEnds = new Promise<string>(() => {});

  async function makeAway(away: AwayShards, device: string, reading = neverEnds): Promise<ShardsAwayError> {
    const thrown = await away.read(at(device), () => reading).catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(ShardsAwayError);
    return thrown as ShardsAwayError;
  }

  it('are away together, and no others, until one answers', async () => {
    const away = new AwayShards(cluster, space);
    let answer = (_: string) => {};
    const late = new Promise<string>((resolve) => {
      answer = resolve;
    });
    const { shards } = await makeAway(away, names[0]!, late);
    expect(shardsIn(shards).length).to.be.within(10, 54);
    const other = names.find((name) => !shardsIn(shards).includes(shardOf(at(name))))!;
    expect(await away.read(at(other), async () => 'there')).to.equal('there');
    expect([away.areAway(setOf(names[0]!)), away.areAway(setOf(other))]).to.deep.equal([true, false]);
    // It is not asked meanwhile.
    await makeAway(away, names[0]!, Promise.resolve('there'));
    answer('late');
    await eventually(() => !away.areAway(shards));
    expect(await away.read(at(names[0]!), async () => 'there')).to.equal('there');
  });

  it('are read all the same where their node answers slowly each time', async () => {
    const away = new AwayShards(cluster, space);
    const readSlowly = async () => {
      await sleep(1_300);
      return 'there';
    };
    const [device] = names as [string];
    await makeAway(away, device, readSlowly());
    await eventually(() => !away.areAway(setOf(device)));
    for (let i = 0; i < 2; i++) expect(await away.read(at(device), readSlowly)).to.equal('there');
  });
});
