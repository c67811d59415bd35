import { toError } from '@gateway/runtime/errors';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

describe('a command on a Redis Cluster whose caller was told that it failed', () => {
  let cluster: RedisCluster;
  let clients: RedisClients<'failFast'>;
  before(async () => {
    cluster = await startRedisCluster();
    clients = createRedisClients({ url: cluster.url, logger: silentLogger, purposes: ['failFast'] });
    await clients.waitForReady();
  });
  after(async () => {
    await clients.close();
    await cluster.stop();
  });

  it('is not sent again: what its caller has done since would be undone', async () => {
    const { failFast } = clients;
    await failFast.set('{wanted}:counted', '0');
    const { stream } = masterOfKey(failFast, '{wanted}');
    // What is sent from now on is lost on its way.
    const write = stream.write.bind(stream) as (...sent: unknown[]) => boolean;
    const lose = (_sent: unknown, ...rest: unknown[]) => {
      const done = rest.find((each) => typeof each === 'function') as (() => void) | undefined;
      if (done) process.nextTick(done);
      return true;
    };
    Object.assign(stream, { write: lose });
    const closed = new Promise((resolve) => stream.once('close', resolve));
    const first = failFast.incr('{wanted}:counted').catch(toError);
    // Of some nothing is said before the connection ends: these are sent again, and what was lost before them would be, first.
    const others: Promise<unknown>[] = [];
    const timer = setInterval(() => others.push(failFast.incr('{wanted}:others').catch(toError)), 50);
    await closed;
    clearInterval(timer);
    Object.assign(stream, { write });
    expect(await first).to.have.property('message', 'Command timed out');
    // Not all have an answer where the node is slow to come back.
    expect((await Promise.all(others)).length).to.be.above(0);
    // It may be led to another node and back first: that takes no longer than the next one does.
    const next = failFast.incr('{wanted}:others').catch(toError);
    masterOfKey(failFast, '{wanted}').stream.destroy();
    await next;
    const counted = await eventually(() => failFast.get('{wanted}:counted').catch(() => undefined));
    expect(counted).to.equal('0');
  });

  it('is sent again with the others of its pipeline, whose caller was told nothing', async () => {
    const { failFast } = clients;
    await eventually(async () => (await failFast.set('{wanted}:read', 'x')) === 'OK');
    const { stream } = masterOfKey(failFast, '{wanted}');
    const read = failFast.pipeline().get('{wanted}:read').get('{wanted}:read').exec();
    // Before it is written: commands of one turn leave together.
    stream.destroy();
    expect(await read).to.deep.equal([
      [null, 'x'],
      [null, 'x'],
    ]);
  });
});
