import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { startTlsRedis, type TlsRedis } from '@gateway/testkit/redis-servers/tls-redis';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ACCOUNT = '491700000093';
const [USER, PASSWORD, DATABASE] = ['gateway', 'p%s:w@rd', '3'];
const ACCESS = `${USER}:${encodeURIComponent(PASSWORD)}@`;
/** As docs/redis.md has them. */
const COMMANDS = ['+@all', '-@dangerous', '-@admin', '+info', '+role', '+client|setname'];

interface Connection {
  /** Of the server. */
  port: number;
  user: string;
  db: string;
}

describe('a Redis with TLS, and a user who may do what the gateway needs', () => {
  let redis: TlsRedis;
  let simulator: Simulator;
  before(async () => {
    [redis, simulator] = await Promise.all([startTlsRedis(), startSimulator()]);
  });
  after(async () => {
    await simulator?.close();
    await redis?.stop();
  });

  const connectionsTo = async ({ url }: RedisProcess): Promise<Connection[]> =>
    String(await askServer(url, 'CLIENT', 'LIST'))
      .trim()
      .split('\n')
      .map((line) => Object.fromEntries(line.split(' ').map((field) => field.split('=', 2))))
      .map(({ laddr, user, db }) => ({ port: Number(laddr.split(':').at(-1)), user, db }));

  async function allow(server: RedisProcess, { prefix }: RedisSpace): Promise<void> {
    const rules = ['reset', 'on', `>${PASSWORD}`, `~${prefix}:*`, `&${prefix}:*`, ...COMMANDS];
    await askServer(server.url, 'ACL', 'SETUSER', USER, ...rules);
  }

  /** Links, sends, is told of it and keeps to its limits, with every role in a process of its own. */
  async function useGateway(space: RedisSpace, REDIS_URL: string, look: () => Promise<void>): Promise<void> {
    const env = { REDIS_URL, NODE_EXTRA_CA_CERTS: redis.certificateFile };
    const gateway = await Gateway.start({ space, simulator, env });
    try {
      await gateway.addEvents();
      await gateway.link(ACCOUNT);
      const scopes = ['events'] as const;
      const { value } = await createApiToken(space.store, 'main', { name: 'reader', scopes });
      const read = (query: string) =>
        gateway.call('GET', `/events?${query}`, { headers: { authorization: `Bearer ${value}` } });
      const first = await read('types=send.finished');
      const to = makeNumbers(3, 93);
      const { body } = await gateway.call('POST', '/send', { body: { to, text: 'hello' } });
      await gateway.waitForSend(body.messageId, { read: 3 });
      const otp = await gateway.call('POST', '/otp', { body: { phone: to[0], code: '123456' } });
      expect([otp.status, first.headers.has('x-ratelimit-remaining')]).to.deep.equal([200, true]);
      const told = await read(`after=${first.body.nextCursor}&types=send.finished&wait=25`);
      expect(told.body.events).to.have.length(1);
      await look();
      expect(gateway.logs().filter((line) => JSON.stringify(line).includes('NOPERM'))).to.deep.equal([]);
      expect((await gateway.call('POST', '/disconnect')).status).to.equal(200);
    } finally {
      await gateway.close();
    }
  }

  it('is served through Sentinels, in a database of its own', async () => {
    const space = await openRedisSpace({ url: `${redis.master.url}/${DATABASE}` });
    try {
      await allow(redis.master, space);
      await askServer(redis.sentinel.url, 'ACL', 'SETUSER', 'sam', 'on', '>other', '&*', '+@all');
      const url = new URL(redis.sentinelUrl.replace('//', `//${ACCESS}`));
      url.pathname += `/${DATABASE}`;
      url.search = 'sentinelUsername=sam&sentinelPassword=other';
      await useGateway(space, url.href, async () => {
        const ofServices = (await connectionsTo(redis.master)).filter(
          ({ db, port }) => db === DATABASE && port !== redis.master.port,
        );
        expect(ofServices).to.have.length.above(8);
        expect(new Set(ofServices.map(({ user }) => user))).to.deep.equal(new Set([USER]));
        const ofSentinel = (await connectionsTo(redis.sentinel)).filter(({ port }) => port !== redis.sentinel.port);
        expect(ofSentinel.filter(({ user }) => user === 'sam')).to.have.length.above(3);
      });
    } finally {
      await space.close();
    }
  });

  it('is served as a Cluster', async () => {
    const space = await openRedisSpace({ url: redis.nodes[0]!.url.replace('redis:', 'redis+cluster:') });
    try {
      for (const node of redis.nodes) await allow(node, space);
      await useGateway(space, redis.clusterUrl.replace('//', `//${ACCESS}`), async () => {
        for (const node of redis.nodes) {
          const ofServices = (await connectionsTo(node)).filter(({ port }) => port !== node.port);
          expect(ofServices).to.have.length.above(4);
          expect(new Set(ofServices.map(({ user }) => user))).to.deep.equal(new Set([USER]));
        }
      });
    } finally {
      await space.close();
    }
  });
});
