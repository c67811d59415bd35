import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { expect } from 'chai';

describe('a Redis that may drop messages', () => {
  let redis: RedisProcess;

  before(async () => {
    redis = await RedisProcess.start();
    const logger = createLogger({ service: 'test', level: 'error', destination: process.stderr });
    const clients = createRedisClients({ url: redis.url, logger: { ...logger, warn: () => {} } });
    await clients.waitForReady();
    await clients.commands.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await clients.close();
  });
  after(() => redis.stop());

  for (const service of ['api', 'connection', 'sender'] as const) {
    it(`is refused by the ${service} service at its start`, async () => {
      const env = {
        REDIS_URL: redis.url,
        CREDENTIAL_KEYS: `k:${'0c'.repeat(32)}`,
        CONTENT_KEYS: `k:${'0d'.repeat(32)}`,
        MESSENGER_URL: 'ws://127.0.0.1:9',
        API_PORT: '0',
      };
      const error = await ServiceProcess.start(service, env).catch((thrown: Error) => thrown);
      expect(error).to.be.an('error');
      expect(String(error)).to.include('maxmemory-policy is allkeys-lru, must be noeviction');
    });
  }
});
