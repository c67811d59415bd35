import { toError } from '@gateway/runtime/errors';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const WITHIN = { everyMs: 100 };
const SETTINGS = ['--repl-diskless-sync-delay', '0'];
/** As many as there are shards. */
const KEYS = Array.from({ length: 64 }, (_, i) => `gw:{#${i}}:key`);
const FAR_MS = 50;
/** Of each time that all ask at once: who comes too late for the first question has the second. */
const MOST_QUESTIONS = 2;
const AWAY_MS = 5_000;

describe('promises in many slots of one master', () => {
  let master: RedisProcess;
  let proxy: RedisProxy;
  let replica: RedisProcess;
  let clients: RedisClients<'commands' | 'confirms'>;
  let confirming: ReturnType<typeof confirmByReplicas>;
  before(async () => {
    master = await RedisProcess.start({ settings: SETTINGS });
    proxy = await startRedisProxy(master.url);
    replica = await RedisProcess.start({ settings: SETTINGS, replicaOf: Number(new URL(proxy.url).port) });
    clients = createRedisClients({ url: master.url, logger, purposes: ['commands', 'confirms'] });
    await clients.waitForReady();
    confirming = confirmByReplicas(clients.confirms, 1);
    await eventually(async () => (await promise(KEYS[0]!)) === undefined, WITHIN);
  });
  after(async () => {
    confirming.stop();
    await clients.close();
    proxy.close();
    await Promise.all([replica, master].map((server) => server.stop()));
  });

  async function promise(key: string): Promise<Error | undefined> {
    await clients.commands.set(key, 'x');
    return confirming.confirm(clients.commands, key).then(() => undefined, toError);
  }

  async function countQuestions(): Promise<number> {
    const [, calls = '0'] = /^cmdstat_wait:calls=(\d+)/m.exec(await clients.commands.info('commandstats')) ?? [];
    return Number(calls);
  }

  it('wait for a replica that is far together, and not one after the other', async () => {
    proxy.setDelay(FAR_MS);
    const before = await countQuestions();
    const rounds = 3;
    for (let round = 0; round < rounds; round++)
      expect((await Promise.all(KEYS.map(promise))).filter(Boolean)).to.deep.equal([]);
    expect((await countQuestions()) - before).to.be.within(rounds, rounds * MOST_QUESTIONS);
    proxy.setDelay(0);
  });

  it('that are asked for in vain while replicas are away leave no questions behind', async () => {
    await replica.kill();
    const untilMs = performance.now() + AWAY_MS;
    const askAgainAndAgain = async (key: string) => {
      while (performance.now() < untilMs) expect(await promise(key)).to.have.property('code', 'not_confirmed');
    };
    await Promise.all(KEYS.map(askAgainAndAgain));
    const { confirms } = clients as unknown as { confirms: { commandQueue: { length: number } } };
    await eventually(() => confirms.commandQueue.length < KEYS.length, WITHIN);
    replica.restart();
    await eventually(async () => (await promise(KEYS[0]!)) === undefined, WITHIN);
  });
});
