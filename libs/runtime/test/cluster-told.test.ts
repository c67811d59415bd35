import { sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

/** Longer than a client waits until it asks again for what a node has not answered. */
const LATER_MS = 1_000;

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
    await failFast.set('wanted', 'before');
    const node = masterOfKey(failFast, 'wanted');
    const { stream } = node;
    // What is sent from now on is lost on its way.
    const write = stream.write.bind(stream) as (...sent: unknown[]) => boolean;
    const lose = (_sent: unknown, ...rest: unknown[]) => {
      const done = rest.find((each) => typeof each === 'function') as (() => void) | undefined;
      if (done) process.nextTick(done);
      return true;
    };
    Object.assign(stream, { write: lose });
    const closed = new Promise((resolve) => stream.once('close', resolve));
    const told = await failFast.set('wanted', 'late').catch(toError);
    expect(told).to.have.property('message', 'Command timed out');
    await closed;
    Object.assign(stream, { write });
    await eventually(async () => (await failFast.set('wanted', 'since')) === 'OK');
    await sleep(LATER_MS);
    expect(await failFast.get('wanted')).to.equal('since');
  });
});
