import { LOG_START } from '@gateway/contracts/events/cursor';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { systemClock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import { type ConfirmWrites, confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createUser, removeUser } from '@gateway/store/console/users';
import { confirmEverywhere, connectToAll } from '@gateway/store/core/confirming/confirm-everywhere';
import { writeTogether } from '@gateway/store/core/confirming/write-together';
import { createStore, type Store } from '@gateway/store/core/store';
import { readEvents } from '@gateway/store/events/reading/read-events';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { keepSurely } from '@gateway/store/inbound/keep-surely';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { pauseWebhook, readWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts, removeOptOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { type RedisSentinels, startRedisSentinels } from '@gateway/testkit/redis-servers/redis-sentinels';
import { readKeyRings } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { Redis } from 'ioredis';

const WITHIN = { everyMs: 100 };
const KEY = 'gw:{#0}:key';
const RING = 'test:'.concat('07'.repeat(32));
const ATTEMPT = { webhookId: 'evt_test', atMs: 1_000, tookMs: 5, status: 200, error: null, answer: '' };

describe('a promise that one master took and another confirms', () => {
  let before: RedisSentinels;
  let next: RedisSentinels;
  let stopWatch = () => {};
  const clients: Redis[] = [];

  beforeEach(async () => {
    [before, next] = await Promise.all(
      [0, 1].map(() => startRedisSentinels({ sentinels: 0 })) as [Promise<RedisSentinels>, Promise<RedisSentinels>],
    );
    for (const { servers } of [before, next])
      await eventually(async () => (await replicasOf(servers[0]!)) === 2, WITHIN);
  });
  afterEach(async () => {
    stopWatch();
    for (const client of clients.splice(0)) client.disconnect();
    await Promise.all([before.stop(), next.stop()]);
  });

  async function connectTo({ servers }: RedisSentinels): Promise<Redis> {
    const client = new Redis(servers[0]!.url);
    clients.push(client);
    await client.ping();
    return client;
  }

  function confirmBy(confirms: Redis): ConfirmWrites {
    const { confirm, stop } = confirmByReplicas(confirms, 1);
    stopWatch = stop;
    return confirm;
  }

  it('is not given: one connection was told of the next master, and the other was not', async () => {
    const [writer, confirms] = [await connectTo(before), await connectTo(next)];
    const confirm = confirmBy(confirms);
    await confirm(confirms, KEY);
    await writer.set(KEY, 'taken by one');
    expect(await confirm(writer, KEY).catch(toError)).to.have.property('code', 'not_confirmed');
    // The same is asked for two writes of which one went there.
    const told = await Promise.allSettled([writer, confirms].map((each) => confirm(each, KEY)));
    expect(told.map(({ status }) => status)).to.deep.equal(['rejected', 'fulfilled']);
  });

  /** What happens between two of several writes. */
  async function moveOn(...moving: Redis[]): Promise<void> {
    for (const client of moving) {
      client.options.port = next.servers[0]!.port;
      client.disconnect(true);
    }
    for (const client of moving) await eventually(() => hasMoved(client), WITHIN);
  }
  const hasMoved = async (client: Redis) =>
    String(await client.config('GET', 'port')).endsWith(String(next.servers[0]!.port));

  /** A store that gives promises, and is confirmed once, so that both masters are known. */
  async function openStore() {
    const [writer, confirms] = [await connectTo(before), await connectTo(before)];
    const keyRings = readKeyRings({ CREDENTIAL_KEYS: RING, CONTENT_KEYS: RING });
    const store = createStore({ redis: writer, space: { prefix: 'gw' }, keyRings, confirmWrites: confirmBy(confirms) });
    await store.confirmWrites(KEY);
    return { store, writer, confirms };
  }

  it('is not given for several writes of which the next master got the last ones only', async () => {
    const { store, writer, confirms } = await openStore();
    await createUser(store, 'ada', 'admin');
    const { srem } = writer;
    writer.srem = async (...args: unknown[]) => {
      if (!(await hasMoved(writer))) await moveOn(writer, confirms);
      return Reflect.apply(srem, writer, args);
    };
    expect(await removeUser(store, 'ada').catch(toError)).to.have.property('code', 'not_confirmed');
    expect(await removeUser(store, 'ada')).to.equal(false);
  });

  /** Each with what it asks Redis first: then both connections go on to the next master. */
  const DEEDS: Record<string, { first: string; deed: (store: Store, id: WebhookId) => Promise<unknown> }> = {
    'that an endpoint has passed its test': {
      first: 'record-attempt',
      deed: async (store, id) => {
        const { revision } = (await readWebhook(store, 'main', id))!;
        return recordAttempt(store, 'main', id, { attempt: ATTEMPT, verifiesRevision: revision });
      },
    },
    'that an endpoint is as it is wanted': {
      first: 'hgetallBuffer',
      deed: (store, id) => pauseWebhook(store, 'main', id),
    },
    'that a person is not on the list of opt-outs': {
      first: 'hget',
      deed: (store) => removeOptOut(store, 'main', '447700900999'),
    },
    'to who reads events, of which the next master may have others': {
      first: 'xrangeBuffer',
      deed: (store) => readEvents({ store, workspace: 'main' }, LOG_START, { limit: 10 }),
    },
  };
  for (const [what, { first, deed }] of Object.entries(DEEDS)) {
    it(`is not given ${what} by one master while another is asked about it`, async () => {
      const { store, writer, confirms } = await openStore();
      const id = await createActiveWebhook(store, 'https://example.com/');
      await pauseWebhook(store, 'main', id);
      await addOptOuts(store, 'main', { numbers: ['447700900123'], source: 'api', atMs: 1_000 });
      await deed(store, id);
      let left = 1;
      const moveAfter = async <Result>(name: string, asked: Promise<Result>): Promise<Result> => {
        const result = await asked;
        if (name === first && left-- > 0) await moveOn(writer, confirms);
        return result;
      };
      const { run } = store;
      store.run = (name, ...args) => moveAfter(name, run(name, ...args));
      const asks = writer as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
      const ask = asks[first]?.bind(writer);
      if (ask) asks[first] = (...args) => moveAfter(first, ask(...args));
      expect(await deed(store, id).catch(toError)).to.have.property('code', 'not_confirmed');
      expect(left, 'it was asked').to.be.below(1);
    });
  }

  it('is written again, all of it, where it must be kept', async () => {
    const { store, writer, confirms } = await openStore();
    const ownership = { address: { workspace: 'main', device: 'a' } } as Ownership;
    let writes = 0;
    const result = await keepSurely({ store, ownership, clock: systemClock, logger: silentLogger }, async () => {
      writes++;
      await writer.set('gw:{#0}:first', 'x');
      if (!(await hasMoved(writer))) await moveOn(writer, confirms);
      return writer.set('gw:{#0}:second', 'x');
    });
    expect(result).to.equal('OK');
    expect(writes).to.be.greaterThan(1);
    expect(await askServer(next.servers[0]!.url, 'GET', 'gw:{#0}:first')).to.equal('x');
  });

  it('is not given for what was written to all masters when one of them was replaced meanwhile', async () => {
    const { store, writer, confirms } = await openStore();
    const since = await connectToAll(store);
    await confirmEverywhere(store, since);
    await moveOn(writer, confirms);
    expect(await confirmEverywhere(store, since).catch(toError)).to.have.property('code', 'not_confirmed');
    await confirmEverywhere(store, await connectToAll(store));
  });

  it('is not given where the master was another one in between, and is back on the same connections without the first write', async () => {
    const { store, writer } = await openStore();
    const [master, other, third] = before.servers as [RedisProcess, RedisProcess, RedisProcess];
    const follow = (who: RedisProcess, whom: RedisProcess) =>
      askServer(who.url, 'REPLICAOF', '127.0.0.1', String(whom.port));
    const [first, second] = ['gw:{#0}:first', 'gw:{#0}:second'];
    const { stream } = writer;
    const promise = writeTogether(store, KEY, async () => {
      await askServer(other.url, 'REPLICAOF', 'NO', 'ONE');
      await writer.set(first, 'x');
      await follow(master, other);
      await eventually(async () => (await writer.exists(first)) === 0, WITHIN);
      await askServer(master.url, 'REPLICAOF', 'NO', 'ONE');
      for (const replica of [other, third]) await follow(replica, master);
      await eventually(async () => (await replicasOf(master)) === 2, WITHIN);
      return writer.set(second, 'x');
    });
    expect(await promise.catch(toError)).to.have.property('code', 'not_confirmed');
    expect(writer.stream === stream, 'it was one connection').to.equal(true);
    expect(await writer.mget(first, second)).to.deep.equal([null, 'x']);
    await writeTogether(store, KEY, () => writer.mset(first, 'x', second, 'x'));
  });

  it('nor when both connections have gone on to the next one in the meantime', async () => {
    const [writer, confirms] = [await connectTo(before), await connectTo(before)];
    const confirm = confirmBy(confirms);
    await confirm(writer, KEY);
    for (const replica of before.servers.slice(1)) replica.freeze();
    // It waits for replicas in vain, and the other one behind it.
    const running = confirm(writer, KEY).catch(toError);
    await writer.set(KEY, 'taken by one');
    const behind = confirm(writer, KEY).catch(toError);
    await moveOn(writer, confirms);
    expect(await running).to.have.property('code', 'not_confirmed');
    expect(await behind).to.have.property('code', 'not_confirmed');
    await confirm(writer, KEY);
  });
});

/** Those that have all up to now. */
async function replicasOf({ url }: RedisProcess): Promise<number> {
  return [...String(await askServer(url, 'INFO', 'replication')).matchAll(/^slave\d+:.*state=online,/gm)].length;
}
