import { createLogger } from '@gateway/runtime/logs/logger';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { type RedisSentinels, startRedisSentinels } from '@gateway/testkit/redis-servers/redis-sentinels';
import { expect } from 'chai';

const WITHIN = { everyMs: 100 };
const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} };

describe('a master that is cut off together with one of its two replicas', () => {
  let servers: RedisSentinels;
  before(async () => {
    servers = await startRedisSentinels();
  });
  after(() => servers.stop());

  it('confirms by that replica what is lost; by two it confirms nothing', async () => {
    const clients = createRedisClients({ url: servers.url, logger, purposes: ['commands', 'failFast', 'confirms'] });
    const byOne = confirmByReplicas(clients.confirms, 1);
    const byTwo = confirmByReplicas(clients.confirms, 2);
    /** Whether that many replicas said that they have it. */
    const promise = async (key: string, { confirm }: typeof byOne) => {
      await clients.failFast.set(`gw:{#0}:${key}`, key);
      return confirm(clients.failFast, `gw:{#0}:${key}`).then(
        () => true,
        () => false,
      );
    };
    const isKept = async (key: string) => (await clients.commands.get(`gw:{#0}:${key}`)) === key;
    try {
      await clients.waitForReady();
      for (const each of [byOne, byTwo]) await eventually(() => promise('before', each), WITHIN);
      const [old, along] = servers.servers as [RedisProcess, RedisProcess];
      const heal = servers.cutOff(old, along);
      try {
        expect(await promise('one', byOne), 'confirmed by one').to.equal(true);
        expect(await promise('two', byTwo), 'confirmed by two').to.equal(false);
        await eventually(async () => ![old, along].includes(await servers.findMaster()), WITHIN);
      } finally {
        heal();
      }
      for (const each of [byOne, byTwo]) await eventually(() => promise('after', each), WITHIN);
      const kept = await Promise.all(['before', 'one', 'two', 'after'].map(isKept));
      expect(kept, 'kept').to.deep.equal([true, false, false, true]);
    } finally {
      byOne.stop();
      byTwo.stop();
      await clients.close();
    }
  });
});
