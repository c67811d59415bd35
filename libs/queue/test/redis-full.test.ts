import type { SendJob } from '@gateway/contracts/jobs';
import { createConsumer } from '@gateway/queue/consumer';
import { createProducer } from '@gateway/queue/producer';
import { createLogger } from '@gateway/runtime/logs/logger';
import { eventually } from '@gateway/testkit/eventually';
import { type SmallRedis, startSmallRedis } from '@gateway/testkit/small-redis';
import { expect } from 'chai';

const PROCESS = 'sender-1';
const WAITING = 'msg_000000000000000000000001';
const WOKEN = 'msg_000000000000000000000002';

describe('the queue of a process in a full Redis', () => {
  let redis: SmallRedis;
  before(async () => {
    redis = await startSmallRedis();
  });
  after(() => redis.close());

  it('hands out what waits, wakes other sends, and forgets what is done', async () => {
    const { clients, store } = redis.space;
    const { queue: connection } = clients;
    const producer = createProducer({ connection, space: store.space });
    const job = (messageId: string): SendJob => ({
      ...{ v: 1, workspace: 'main', device: 'phone-1', messageId, requestId: 'r', priority: 'bulk' },
    });
    await producer.addSend(PROCESS, job(WAITING));
    await redis.fill();
    const seen: string[] = [];
    const consumer = createConsumer({
      ...{ connection, space: store.space, processId: PROCESS, concurrency: 2 },
      logger: { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} },
      handlers: {
        send: async ({ messageId }) => void seen.push(messageId),
        sends: () => Promise.reject(new Error('each was added alone')),
      },
    });
    await eventually(() => seen.length === 1);
    await producer.addSend(PROCESS, job(WOKEN));
    await eventually(() => seen.length === 2);
    expect(seen).to.deep.equal([WAITING, WOKEN]);
    await eventually(async () => (await store.redis.keys(`*:${WAITING}`)).length === 0, { what: 'an empty queue' });
    await consumer.close();
    await producer.close();
  });
});
