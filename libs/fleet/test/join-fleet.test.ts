import { joinFleet } from '@gateway/fleet/join-fleet';
import { createMetrics } from '@gateway/runtime/process/metrics';
import type { ProcessHost } from '@gateway/runtime/process/process-host';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { onConnection } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const TTL_MS = 400;

describe('the sessions of a process', () => {
  let space: RedisSpace;
  let clients: RedisClients<'commands' | 'sessions' | 'subscriber'>;
  let stop: () => Promise<void>;

  beforeEach(async () => {
    space = await openRedisSpace();
    clients = createRedisClients({ url: space.url, logger, purposes: ['commands', 'sessions', 'subscriber'] });
    stop = async () => {};
  });
  afterEach(async () => {
    await stop();
    await clients.close();
    await space.close();
  });

  it('are opened and renewed while a command holds up all others of its connection', async () => {
    const add = (_: string, end: () => Promise<void>) => {
      stop = end;
    };
    const lifecycle = { logger, fail: () => {}, add };
    const host = {
      ...{ processId: 'a', clients, registry: createMetrics(), lifecycle },
      share: <Shared>(_: string, make: () => Shared) => make(),
    } as unknown as ProcessHost<'sessions' | 'subscriber'>;
    const store = onConnection(space.store, clients.commands);
    const { keeper } = await joinFleet(host, store, { SESSION_TTL_MS: TTL_MS });
    const blocker = `${space.prefix}:blocker`;
    let isHeldUp = true;
    const answer = clients.commands.blpop(blocker, 0).finally(() => {
      isHeldUp = false;
    });
    // By the same connection: another one may lead to another master, at which this session is never renewed.
    const address = { workspace: 'main', device: 'a' };
    await ensureDevice(space.store, address);
    const held = (await keeper.acquire(address))!;
    const untilMs = performance.now() + 2 * TTL_MS;
    await eventually(() => performance.now() > untilMs);
    expect(isHeldUp).to.equal(true);
    held.assertHeld();
    await space.store.redis.rpush(blocker, 'go on');
    await answer;
  });
});
