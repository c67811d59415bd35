import { addEventsMetrics } from '@gateway/events/events-metrics';
import { Relay } from '@gateway/events/relay/relay';
import { sleep } from '@gateway/runtime/clock';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { type Confirmations, confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { createStore } from '@gateway/store/core/store';
import { openEvents } from '@gateway/store/events/open-events';
import { readLog } from '@gateway/store/events/read-log';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { eventually } from '@gateway/testkit/eventually';
import { takeDevice } from '@gateway/testkit/ownership';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace, readKeyRings } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const EVENTS = 600;
/** Up to so long after the other: some come while those before them are confirmed. */
const PAUSE_MS = 12;
const MOST_MS = 500;

describe('events, where a replica confirms what their log got', () => {
  let servers: RedisProcess[] = [];
  let space: RedisSpace;
  let clients: RedisClients<'confirms'>;
  let confirmations: Confirmations;
  let relay: Relay;
  before(async () => {
    const master = await RedisProcess.start();
    const settings = ['--repl-diskless-sync-delay', '0'];
    servers = [master, await RedisProcess.start({ settings, replicaOf: master.port })];
    space = await openRedisSpace({ url: master.url });
    clients = createRedisClients({ url: master.url, logger: silentLogger, purposes: ['confirms'] });
    confirmations = confirmByReplicas(clients.confirms, 1);
    const store = createStore({
      redis: space.store.redis,
      space: space.store.space,
      keyRings: readKeyRings(space.keySettings),
      confirmWrites: confirmations.confirm,
    });
    await eventually(() => store.confirmWrites(`${space.prefix}:{main}:any`).then(() => true));
    const metrics = addEventsMetrics(createMetrics());
    relay = await Relay.start({ store, bells: space.clients.subscriber, metrics, logger: silentLogger });
  });
  after(async () => {
    await relay?.stop();
    confirmations?.stop();
    await clients?.close();
    await space?.close();
    await Promise.all(servers.map((server) => server.stop()));
  });

  it('are in it within half a second, however they come', async () => {
    const { store } = space;
    await openEvents(store, 'main');
    const ownership = (await takeDevice(store, { workspace: 'main', device: 'a' }, { owner: 'a', ttlMs: 600_000 }))!;
    for (let n = 0; n < EVENTS; n++) {
      const message = { platformId: `3A${n}`, jid: 'j', phone: '447700900124', text: 'hello' };
      await recordReceived(store, ownership, { message, nowMs: Date.now() });
      await sleep(Math.random() * PAUSE_MS);
    }
    const late = await eventually(async () => {
      const found = await readLog(store, 'main', { entry: '0-0', offset: 0 }, { limit: 2 * EVENTS });
      if ('oldest' in found || found.entries.length < EVENTS) return false;
      return found.entries.map(({ id, atMs }) => Number.parseInt(id, 10) - atMs).sort((a, b) => a - b);
    });
    expect(late).to.have.length(EVENTS);
    expect(late[Math.floor(EVENTS * 0.95)]).to.be.at.most(MOST_MS);
  });
});
