import { clockAheadMs, inTime, setClockAhead } from '@gateway/runtime/clock';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { addProcessMetrics } from '@gateway/runtime/process/process-metrics';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { addressOfNode, masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { followRedisTime } from '@gateway/runtime/redis/redis-time';
import { tellWrongClocks } from '@gateway/runtime/redis/tell-wrong-clocks';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import type { Redis } from 'ioredis';

const SIX_MINUTES_MS = 360_000;

describe('the time of a Redis Cluster', () => {
  let cluster: RedisCluster;
  let clients: RedisClients<'failFast'>;
  let stop = () => {};
  before(async () => {
    cluster = await startRedisCluster();
    clients = createRedisClients({ url: cluster.url, logger: silentLogger, purposes: ['failFast'] });
    await clients.waitForReady();
  });
  afterEach(() => {
    stop();
    setClockAhead(0);
  });
  after(async () => {
    for (const { master } of cluster.shards) master.thaw();
    await clients.close();
    await cluster.stop();
  });

  /** As if its machine had another time: that is what this client hears from it. Returns what sets it. */
  function setClockOf(node: Redis): (aheadMs: number) => void {
    let aheadMs = 0;
    const seen = new WeakSet<object>();
    const send = node.sendCommand.bind(node);
    node.sendCommand = (command, ...rest) => {
      const { resolve } = command;
      // One that waited for the connection comes here twice.
      const isFirst = command.name === 'time' && !seen.has(command);
      seen.add(command);
      if (isFirst)
        command.resolve = (reply) => {
          const [seconds, micros] = reply as unknown as [Buffer, Buffer];
          resolve([String(Number(seconds) + aheadMs / 1000), micros] as unknown as Buffer);
        };
      return send(command, ...rest);
    };
    return (ms) => {
      aheadMs = ms;
    };
  }

  it('is that of most masters where one is six minutes ahead, also while another hangs; the log and a metric tell of it', async () => {
    const [wrong, other] = masterNodes(clients.failFast) as [Redis, Redis];
    const setClock = setClockOf(wrong);
    setClock(SIX_MINUTES_MS);
    const registry = createMetrics();
    const { noteNodeClocks } = addProcessMetrics(registry, () => ({}));
    const lines: [string, object | undefined][] = [];
    const note = (message: string, fields?: object) => void lines.push([message, fields]);
    const tell = tellWrongClocks({ warn: note, info: note });
    let rounds = 0;
    let furthestMs = 0;
    const onNodes = (aheadMs: ReadonlyMap<string, number>) => {
      rounds++;
      furthestMs = Math.max(furthestMs, Math.abs(clockAheadMs()));
      noteNodeClocks(aheadMs);
      tell(aheadMs);
    };
    const goOn = async (count: number) => {
      const from = rounds;
      await eventually(() => rounds >= from + count);
    };
    stop = await followRedisTime(clients.failFast, { askEveryMs: 10, onNodes });
    expect(Math.abs(clockAheadMs())).to.be.below(1_000);
    await goOn(30);
    expect(furthestMs, 'followed').to.be.below(1_000);
    const node = addressOfNode(wrong);
    expect(lines, 'once').to.deep.equal([['the clock of a redis node is wrong', { node, aheadSeconds: 360 }]]);
    const offsets = async () =>
      new Map(
        [...(await registry.metrics()).matchAll(/^gateway_redis_clock_offset_seconds\{node="(.*)"\} (.*)$/gm)].map(
          ([, name, seconds]) => [name, Math.abs(Math.round(Number(seconds)))],
        ),
      );
    expect((await offsets()).get(node)).to.equal(360);
    expect([...(await offsets()).values()].sort()).to.deep.equal([0, 0, 360]);

    const hung = cluster.shards.find(({ master }) => master.port === other.options.port)!.master;
    hung.freeze();
    await eventually(async () => (await offsets()).size === 2);
    await goOn(10);
    hung.thaw();
    await eventually(async () => (await offsets()).size === 3);
    expect(furthestMs, 'followed').to.be.below(1_000);

    setClock(0);
    await eventually(() => lines.length > 1);
    expect(lines.slice(1)).to.deep.equal([['the clock of a redis node is right again', { node }]]);
  });

  it('is followed where all masters have another one', async () => {
    for (const node of masterNodes(clients.failFast)) setClockOf(node)(SIX_MINUTES_MS);
    const following = followRedisTime(clients.failFast);
    expect(await inTime(following, 2_000)).to.equal(true);
    stop = await following;
    expect(clockAheadMs()).to.be.closeTo(-SIX_MINUTES_MS, 1_000);
  });
});
