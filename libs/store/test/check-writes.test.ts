import { sleep } from '@gateway/runtime/clock';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { checkWrites } from '@gateway/store/core/check-writes';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { expect } from 'chai';

/** Long enough for a server on this machine to answer. */
const SOON_MS = 300;

describe('whether a process can write', () => {
  it('is asked by a write: no longer when its master was made a replica, or is full, and again when that is over', async () => {
    const server = await RedisProcess.start();
    const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} };
    const clients = createRedisClients({ url: server.url, logger, purposes: ['commands'] });
    const check = checkWrites({ redis: clients.commands, space: { prefix: 'gw' } } as never);
    const canWrite = () =>
      Promise.race([check().then(() => true), sleep(SOON_MS).then(() => false)]).catch(() => false);
    try {
      await clients.waitForReady();
      expect(await eventually(canWrite)).to.equal(true);
      await askServer(server.url, 'REPLICAOF', '127.0.0.1', 1);
      expect(await canWrite(), 'a replica').to.equal(false);
      await askServer(server.url, 'REPLICAOF', 'NO', 'ONE');
      await eventually(canWrite);
      await askServer(server.url, 'CONFIG', 'SET', 'maxmemory', 100_000);
      expect(await canWrite(), 'full').to.equal(false);
      await askServer(server.url, 'CONFIG', 'SET', 'maxmemory', 0);
      await eventually(canWrite);
    } finally {
      await clients.close();
      await server.stop();
    }
  });
});
