import type { SendJob } from '@gateway/contracts/jobs';
import { queueName, queuePrefix } from '@gateway/contracts/redis-keys';
import { createProducer, type Producer } from '@gateway/queue/producer';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const job: SendJob = {
  v: 1,
  workspace: 'main',
  device: 'phone-1',
  messageId: `msg_${'0'.repeat(24)}`,
  priority: 'bulk',
  requestId: 'r',
};

describe('a producer on a connection that fails fast', () => {
  let space: RedisSpace;
  let proxy: RedisProxy;
  let clients: RedisClients;
  let producer: Producer;

  beforeEach(async () => {
    space = await openRedisSpace();
    proxy = await startRedisProxy(space.url);
    clients = createRedisClients({ url: proxy.url, logger: createLogger({ service: 'test', level: 'error' }) });
    await clients.waitForReady();
    producer = createProducer({ connection: clients.failFast, space: space.store.space });
  });
  afterEach(async () => {
    await producer.close();
    await clients.close();
    proxy.close();
    await space.close();
  });

  for (const fault of ['cut', 'freeze'] as const) {
    it(`fails in under 3 s for a queue first used while Redis is away (${fault}), and works after it`, async () => {
      proxy[fault]();
      const startedAt = Date.now();
      const outcome = await producer.addSend('sender-1', job).catch((error: unknown) => error);
      expect(outcome).to.be.an('error');
      expect(Date.now() - startedAt).to.be.below(3_000);
      proxy.restore();
      await eventually(async () => {
        await producer.addSend('sender-1', job);
        return true;
      });
      const jobs = `${queuePrefix(space.store.space)}:${queueName('sender-1')}:${job.messageId}`;
      expect(await space.clients.commands.exists(jobs)).to.equal(1);
    });
  }
});
