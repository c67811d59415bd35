import type { SendJob } from '@gateway/contracts/jobs';
import { createConsumer, type JobOutcome } from '@gateway/queue/consumer';
import { createProducer } from '@gateway/queue/producer';
import { createLogger } from '@gateway/runtime/logs/logger';
import { eventually } from '@gateway/testkit/eventually';
import { type SmallRedis, startSmallRedis } from '@gateway/testkit/small-redis';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const WAITING = 'msg_000000000000000000000001';
const WOKEN = 'msg_000000000000000000000002';

describe('the queue of a device in a full Redis', () => {
  let redis: SmallRedis;
  before(async () => {
    redis = await startSmallRedis();
  });
  after(() => redis.close());

  it('hands out what waits, takes it back, wakes other sends, and forgets what is done', async () => {
    const { clients, store } = redis.space;
    const { queue: connection } = clients;
    const producer = createProducer({ connection, space: store.space });
    const job = (messageId: string): SendJob => ({ v: 1, ...address, messageId, requestId: 'r', priority: 'bulk' });
    await producer.addSend(job(WAITING), { epoch: 0 });
    await redis.fill();
    const seen: string[] = [];
    const consumer = createConsumer({
      ...{ connection, space: store.space, address, concurrency: 2 },
      logger: createLogger({ service: 'test', level: 'error' }),
      handlers: {
        send: async ({ messageId }): Promise<JobOutcome> => {
          seen.push(messageId);
          return seen.length === 1 ? { kind: 'later', delayMs: 1 } : { kind: 'done' };
        },
      },
    });
    await eventually(() => seen.length === 2, { what: 'the same job twice' });
    await producer.addSend(job(WOKEN), { epoch: 3 });
    await eventually(() => seen.length === 3);
    expect(seen).to.deep.equal([WAITING, WAITING, WOKEN]);
    await eventually(async () => !(await producer.hasSend(address, WAITING)), { what: 'an empty queue' });
    await consumer.close();
    await producer.close();
  });
});
