import { toError } from '@gateway/runtime/errors';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { createOneTimeLink, takeOneTimeLink } from '@gateway/store/console/one-time-links';
import { endSession, readSession, writeSession } from '@gateway/store/console/sessions';
import { ensureFirstUser } from '@gateway/store/console/users';
import { createStore, type Store } from '@gateway/store/core/store';
import { eventually } from '@gateway/testkit/eventually';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace, readKeyRings } from '@gateway/testkit/redis-space';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

describe('the console where a replica is to have what it promises', () => {
  let servers: RedisProcess[] = [];
  let space: RedisSpace;
  let clients: RedisClients<'confirms'>;
  let stopWatch = () => {};
  let store: Store;
  before(async () => {
    const master = await RedisProcess.start();
    const settings = ['--repl-diskless-sync-delay', '0'];
    servers = [master, await RedisProcess.start({ settings, replicaOf: master.port })];
    space = await openRedisSpace({ url: master.url });
    clients = createRedisClients({ url: master.url, logger, purposes: ['confirms'] });
    const { confirm, stop } = confirmByReplicas(clients.confirms, 1);
    stopWatch = stop;
    store = createStore({
      redis: space.clients.failFast,
      space: space.store.space,
      keyRings: readKeyRings(space.keySettings),
      confirmWrites: confirm,
    });
    await ensureFirstUser(store);
    await eventually(confirms);
  });
  afterEach(() => replica().thaw());
  after(async () => {
    stopWatch();
    await clients?.close();
    await space?.close();
    await Promise.all(servers.map((server) => server.stop()));
  });

  const replica = () => servers[1]!;
  const confirms = () => store.confirmWrites(`${space.prefix}:{#console}:any`).then(() => true);
  const session = () => ({ user: 'admin', createdAtMs: Date.now(), text: '{}' });

  /** The same store, whose replica hangs from the first `GETDEL` on. */
  function hangingAtTheLastMoment(): Store {
    const { redis } = store;
    const getdel = (key: string) => {
      replica().freeze();
      return redis.getdel(key);
    };
    const hanging = new Proxy(redis, {
      get: (of, name) => (name === 'getdel' ? getdel : Reflect.get(of, name, of)),
    });
    return { ...store, redis: hanging, confirmWrites: (key, since) => store.confirmWrites(key, since) };
  }

  it('says of no session that it has ended while only the master knows', async () => {
    await writeSession(store, 'cookie', session());
    await writeSession(store, 'another', session());
    replica().freeze();
    expect(await endSession(store, 'cookie').catch(toError)).to.have.property('code', 'not_confirmed');
    expect(await readSession(store, 'cookie'), 'it has, unless the master is lost').to.equal(undefined);
    // Each sign-in ends what the browser had before, if that was anything.
    await endSession(store, 'of no one');
    replica().thaw();
    await eventually(confirms);
    await endSession(store, 'another');
  });

  it('says so where the client asks again, as the first answer was lost', async () => {
    await writeSession(store, 'cookie', session());
    const twice = new Proxy(store.redis, {
      get: (of, name) => {
        const command = Reflect.get(of, name, of) as (...args: unknown[]) => Promise<unknown>;
        if (name !== 'getdel' && name !== 'del') return command;
        return async (...args: unknown[]) => {
          await command.apply(of, args);
          return command.apply(of, args);
        };
      },
    });
    replica().freeze();
    const asked = { ...store, redis: twice, confirmWrites: (key: string) => store.confirmWrites(key) };
    expect(await endSession(asked, 'cookie').catch(toError)).to.have.property('code', 'not_confirmed');
  });

  it('signs in no one by a link while only the master knows that it was used', async () => {
    const secret = await createOneTimeLink(store, 'admin');
    const taken = await takeOneTimeLink(hangingAtTheLastMoment(), secret).catch(toError);
    expect(taken).to.have.property('code', 'not_confirmed');
  });

  it('does not use up a link while no replica is there', async () => {
    const secret = await createOneTimeLink(store, 'admin');
    replica().freeze();
    expect(await takeOneTimeLink(store, secret).catch(toError)).to.have.property('code', 'not_confirmed');
    replica().thaw();
    await eventually(confirms);
    expect(await takeOneTimeLink(store, secret)).to.have.property('name', 'admin');
    expect(await takeOneTimeLink(store, secret)).to.equal(undefined);
  });
});
