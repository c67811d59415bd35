import { claimDelivery, type TakenWebhook, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { findParkedKeys, readParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';

/** The most that one request has. */
const CHANGES = 500;

describe('what is put aside costs Redis', () => {
  let space: RedisSpace;
  let taken: TakenWebhook;
  let steps = 0;
  const open = async (url?: string) => {
    space = await openRedisSpace({ ...(url && { url }) });
    const id = await createActiveWebhook(space.store, 'https://example.com/hook');
    const found = await takeWebhook(space.store, { workspace: 'main', id }, ownerOf('process-1'));
    if (typeof found === 'string') throw new Error(found);
    taken = found;
  };
  beforeEach(() => open());
  afterEach(() => space.close());

  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
  const park = async (keys: readonly string[]) => {
    const state = { cursor: `${++steps}-0` };
    const changes = keys.map((key, n) => {
      return { what: 'add', key, event: { entry: '1-1', id: `${steps}.${n}`, type: 'send.finished' } } as const;
    });
    expect(await claimDelivery(space.store, taken, { lane: 'prompt', state, changes, nowMs: 1 })).to.equal(true);
  };
  const valuesMoved = async (work: () => Promise<unknown>) => {
    const read = async () => {
      const info = await space.clients.commands.info('commandstats');
      const calls = [...info.matchAll(/^cmdstat_(?:hget|hset):calls=(\d+)/gm)].map(([, count]) => Number(count));
      return calls.reduce((sum, count) => sum + count, 0);
    };
    const before = await read();
    await work();
    return (await read()) - before;
  };
  const bytesSent = async (work: () => Promise<unknown>) => {
    const read = async () =>
      Number(/^total_net_output_bytes:(\d+)/m.exec(await space.clients.commands.info('stats'))![1]);
    const before = await read();
    await work();
    return (await read()) - before;
  };

  it('no more values, read and written, for the five hundred events of one recipient than for one', async () => {
    await park(['someone']);
    const one = await valuesMoved(() => park(['someone']));
    const all = await valuesMoved(() => park(numbers(CHANGES).map(() => 'someone')));
    expect([one > 0, all]).to.deep.equal([true, one]);
    const [{ events } = { events: [] }] = await readParked(space.store, taken, ['someone']);
    const expected = ['1.0', '2.0', ...numbers(CHANGES).map((n) => `3.${n}`)];
    expect(
      events.map(({ id }) => id),
      'in order',
    ).to.deep.equal(expected);
  });

  it('the same for each further recipient, however their events lie between each other', async () => {
    const step = (recipients: number) => valuesMoved(() => park(numbers(CHANGES).map((n) => `k${n % recipients}`)));
    const [one, eleven] = [await step(1), await step(11)];
    expect(eleven - one).to.equal(20);
    expect(await space.store.redis.hget(`${space.prefix}:{main}:webhook:${taken.id}`, 'parkedEvents')).to.equal('1000');
  });

  it('as little to ask for whom something is put aside, however much that is', async () => {
    const keys = ['k0', 'k1', 'k2', 'other'];
    const ask = async () =>
      expect([...(await findParkedKeys(space.store, taken, keys))]).to.deep.equal(keys.slice(0, 3));
    await park(keys.slice(0, 3));
    const few = await bytesSent(ask);
    for (let time = 0; time < 3; time++) await park(numbers(CHANGES).map((n) => `k${n % 3}`));
    const many = await bytesSent(ask);
    // The answer to INFO itself, whose numbers grow, is in both.
    expect(many).to.be.at.most(few + 1_000);
  });

  it('as few bytes of its file for the next event of a recipient of whom there is much as for the second one', async () => {
    const server = await RedisProcess.start();
    const shared = space;
    try {
      await open(server.url);
      const written = async (keys: readonly string[]) => {
        const read = async () => {
          const info = await space.clients.commands.info('persistence');
          return Number(/^aof_current_size:(\d+)/m.exec(info)![1]) + Number(/^aof_buffer_length:(\d+)/m.exec(info)![1]);
        };
        const before = await read();
        await park(keys);
        return (await read()) - before;
      };
      await park(['someone']);
      const second = await written(['someone']);
      await park(numbers(CHANGES).map(() => 'someone'));
      const next = await written(['someone']);
      expect(second).to.be.greaterThan(0);
      expect(next).to.be.at.most(second + 20);
      // Also where there is no room: one goes for one that comes.
      for (let time = 0; time < 3; time++) await park(numbers(CHANGES).map(() => 'someone'));
      const over = await written(['someone']);
      expect(over).to.be.at.most(3 * second);
    } finally {
      await space.close();
      await server.stop();
      space = shared;
    }
  });
});
