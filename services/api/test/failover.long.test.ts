import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { type Answer, Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { type RedisSentinels, startRedisSentinels } from '@gateway/testkit/redis-servers/redis-sentinels';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ACCOUNT = '491600000031';
const WITHIN = { everyMs: 200 };
/** Of the gateway, whose limits would else refuse who asks for half a minute. */
const ASKING = { everyMs: 1_050 };

interface World {
  servers: RedisSentinels;
  space: RedisSpace;
  simulator: Simulator;
  gateway: Gateway;
  master: RedisProcess;
  replica: RedisProcess;
}

/** A gateway with a linked device on a master, one replica and one Sentinel, for one test. */
async function withFailover(env: Record<string, string>, test: (world: World) => Promise<void>): Promise<void> {
  const [servers, simulator] = await Promise.all([
    startRedisSentinels({ replicas: 1, sentinels: 1 }),
    startSimulator(),
  ]);
  let space: RedisSpace | undefined;
  let gateway: Gateway | undefined;
  try {
    space = await openRedisSpace({ url: servers.url });
    gateway = await Gateway.start({ space, simulator, env });
    await gateway.link(ACCOUNT);
    const [master, replica] = servers.servers as [RedisProcess, RedisProcess];
    await test({ servers, space, simulator, gateway, master, replica });
  } finally {
    await gateway?.close();
    await space?.close();
    await simulator.close();
    await servers.stop();
  }
}

describe('a failover of Redis', () => {
  const post = (gateway: Gateway, path: string, body: object, key?: string): Promise<Answer> =>
    gateway.call('POST', path, { body, headers: key ? { 'idempotency-key': key } : {} });
  const shownTo = async (simulator: Simulator, phone: string) =>
    (await readDeliveries(simulator, ACCOUNT))
      .filter(({ to }) => to === phone)
      .reduce((sum, { shown }) => sum + shown, 0);

  it('loses nothing that was promised with REDIS_WAIT_REPLICAS: what no replica has is not promised', () =>
    withFailover({ REDIS_WAIT_REPLICAS: '1' }, async ({ gateway, simulator, space, master, replica }) => {
      const [first, second, left] = makeNumbers(3, 70) as [string, string, string];
      replica.freeze();
      const refused = await post(gateway, '/send', { to: first, text: 'first' }, 'key-1');
      expect(refused.status).to.equal(503);
      expect(refused.body.error).to.equal('Not confirmed, and may still happen');
      expect(refused.headers.get('retry-after')).to.equal('2');
      expect((await post(gateway, '/opt-outs', { phone: [left] })).status).to.equal(503);
      expect((await post(gateway, '/send', { to: first, text: 'first' }, 'key-1')).status, 'a repeat').to.equal(503);

      replica.thaw();
      const confirmed = await eventually(async () => {
        const answer = await post(gateway, '/send', { to: first, text: 'first' }, 'key-1');
        return answer.status === 202 && answer;
      }, ASKING);
      expect(confirmed.headers.get('idempotency-replayed')).to.equal('true');
      await eventually(async () => (await shownTo(simulator, first)) === 1, WITHIN);
      expect((await post(gateway, '/opt-outs', { phone: [left] })).status).to.equal(200);

      const last = await post(gateway, '/send', { to: second, text: 'second' }, 'key-2');
      expect(last.status).to.equal(202);
      await master.kill();
      await eventually(async () => (await shownTo(simulator, second)) >= 1, WITHIN);
      const repeated = await eventually(async () => {
        const answer = await post(gateway, '/send', { to: second, text: 'second' }, 'key-2');
        // Nothing replicates any more, so it says so, and knows the send all the same.
        return [202, 503].includes(answer.status) && answer.body.error !== 'Service unavailable' && answer;
      }, ASKING);
      expect(repeated.body.error ?? repeated.body.messageId).to.be.oneOf([
        'Not confirmed, and may still happen',
        last.body.messageId,
      ]);
      expect((await findOptOut(space.store, 'main', left))?.source).to.equal('api');
      await eventually(async () => {
        const { body } = await gateway.call('GET', `/messages/${last.body.messageId}`);
        return body.counts && body.counts.queued + body.counts.sent === 0;
      }, ASKING);
      expect(await shownTo(simulator, first)).to.equal(1);
      expect(await shownTo(simulator, second)).to.equal(1);
    }));

  it('keeps a cancellation that was confirmed with REDIS_WAIT_REPLICAS, and confirms none that no replica has', () =>
    withFailover({ REDIS_WAIT_REPLICAS: '1', PACE_PER_MINUTE: '1' }, async (world) => {
      const { gateway, master, replica } = world;
      const list = makeNumbers(20, 72);
      const { messageId } = (await post(gateway, '/send', { to: list, text: 'not all of them' })).body;
      const cancel = () => gateway.call('DELETE', `/messages/${messageId}`);
      const countsOf = () =>
        eventually(async () => {
          const { status, body } = await gateway.call('GET', `/messages/${messageId}`);
          return status === 200 && body.counts;
        }, ASKING);
      replica.freeze();
      const refused = await cancel();
      expect([refused.status, refused.body.error]).to.deep.equal([503, 'Not confirmed, and may still happen']);
      replica.thaw();
      await eventually(async () => (await cancel()).status === 200, ASKING);
      const { cancelled } = await countsOf();
      expect(cancelled).to.be.above(0);
      await master.kill();
      await eventually(async () => (await world.servers.findMaster()) === replica, WITHIN);
      const counts = await countsOf();
      expect([counts.queued, counts.cancelled]).to.deep.equal([0, cancelled]);
    }));

  it('keeps a STOP that a person wrote: the network is told that it arrived once a replica has it', () =>
    withFailover({ REDIS_WAIT_REPLICAS: '1' }, async (world) => {
      const { gateway, simulator, servers, space, master, replica } = world;
      const [person] = makeNumbers(1, 73) as [string];
      const { mailbox } = simulator.network.accounts.find(ACCOUNT)!.devices.values().next().value!;
      const waits = async () =>
        Number(/cmdstat_wait:calls=(\d+)/.exec(String(await askServer(master.url, 'INFO', 'commandstats')))?.[1] ?? 0);
      await eventually(() => mailbox.size === 0, WITHIN);
      replica.freeze();
      const response = await fetch(`${simulator.adminUrl}/admin/phones/${person}/messages`, {
        method: 'POST',
        body: JSON.stringify({ to: ACCOUNT, text: 'STOP' }),
      });
      expect(response.ok, await response.text()).to.equal(true);
      await eventually(() => findOptOut(space.store, 'main', person), WITHIN);
      const asked = await waits();
      await eventually(async () => (await waits()) >= asked + 2, { ...WITHIN, what: 'replicas are asked, in vain' });
      expect(mailbox.size, 'the network keeps it').to.equal(1);

      replica.thaw();
      await eventually(() => mailbox.size === 0, WITHIN);
      await master.kill();
      await eventually(async () => (await servers.findMaster()) === replica, WITHIN);
      const found = await eventually(() => findOptOut(space.store, 'main', person), WITHIN);
      expect(found.source).to.equal('reply');
      master.restart();
      const { body } = await eventually(async () => {
        const answer = await post(gateway, '/send', { to: person, text: 'not wanted' }, 'key-3');
        return answer.status === 202 && answer;
      }, ASKING);
      const after = await gateway.waitForSend(body.messageId, { failed: 1 }, { query: '?limit=1' });
      expect(after.recipients[0].error).to.equal('recipient_opted_out');
      expect(await shownTo(simulator, person)).to.equal(0);
    }));

  it('that forgets a send shows its repeat under the same key once', () =>
    withFailover({}, async ({ gateway, simulator, servers, master, replica }) => {
      const [friend] = makeNumbers(1, 71) as [string];
      await replica.kill();
      const first = await post(gateway, '/send', { to: friend, text: 'once' }, 'key-1');
      expect(first.status).to.equal(202);
      await eventually(async () => (await shownTo(simulator, friend)) === 1, WITHIN);
      await master.kill();
      replica.restart();
      await eventually(async () => (await servers.findMaster()) === replica, WITHIN);
      const known = await eventually(async () => {
        const answer = await gateway.call('GET', `/messages/${first.body.messageId}`);
        return answer.status < 500 && answer.status;
      }, ASKING);
      expect(known, 'the send is forgotten').to.equal(404);
      const again = await eventually(async () => {
        const answer = await post(gateway, '/send', { to: friend, text: 'once' }, 'key-1');
        return answer.status === 202 && answer;
      }, ASKING);
      expect(again.headers.get('idempotency-replayed')).to.equal(null);
      expect(again.body.messageId).to.equal(first.body.messageId);
      await eventually(async () => {
        const { body } = await gateway.call('GET', `/messages/${first.body.messageId}`);
        return body.counts && body.counts.queued === 0;
      }, ASKING);
      expect(await shownTo(simulator, friend)).to.equal(1);
    }));
});
