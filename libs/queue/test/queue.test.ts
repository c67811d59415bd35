import type { SendJob } from '@gateway/contracts/jobs';
import { queueName, queuePrefix } from '@gateway/contracts/redis-keys';
import { type Consumer, createConsumer, type JobHandlers } from '@gateway/queue/consumer';
import { createProducer, type Producer } from '@gateway/queue/producer';
import { createLogger } from '@gateway/runtime/logs/logger';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { Queue } from 'bullmq';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };

describe('the queue of a device', () => {
  let space: RedisSpace;
  let producer: Producer;
  let consumers: Consumer[];

  beforeEach(async () => {
    space = await openRedisSpace();
    producer = createProducer({ connection: space.clients.commands, space: space.store.space });
    consumers = [];
  });
  afterEach(async () => {
    await Promise.all(consumers.map((consumer) => consumer.close()));
    await producer.close();
    await space.close();
  });

  function consume(handlers: JobHandlers): void {
    const logger = createLogger({ service: 'test', level: 'error', destination: process.stderr });
    const quiet = { ...logger, error: () => {} };
    consumers.push(
      createConsumer({
        ...{
          connection: space.clients.commands,
          space: space.store.space,
          address,
          handlers,
          concurrency: 10,
          logger: quiet,
        },
      }),
    );
  }
  const job = (n: number): SendJob => ({
    priority: 'bulk',
    v: 1,
    ...address,
    messageId: `msg_${String(n).padStart(24, '0')}`,
    requestId: 'r',
  });
  const remember =
    (seen: string[]): JobHandlers['send'] =>
    async ({ messageId }) => {
      seen.push(messageId);
      return { kind: 'done' };
    };
  const _noteIn =
    (seen: string[]) =>
    async ({ messageId }: SendJob) => {
      seen.push(messageId);
      return { kind: 'done' as const };
    };
  const bullQueue = () =>
    new Queue(queueName(address), { connection: space.clients.commands, prefix: queuePrefix(space.store.space) });

  it('hands every job over once and leaves nothing behind', async () => {
    const seen: string[] = [];
    for (const n of [1, 2, 2]) await producer.addSend(job(n), { epoch: 0 });
    expect(await producer.hasSend(address, job(1).messageId)).to.equal(true);
    consume({ send: remember(seen) });
    await eventually(async () => !(await producer.hasSend(address, job(2).messageId)));
    expect(seen).to.deep.equal([job(1).messageId, job(2).messageId]);
    expect((await bullQueue().getJobs()).length).to.equal(0);
  });

  it('gives a job back when its handler says later, without counting an attempt', async () => {
    let tries = 0;
    await producer.addSend(job(1), { epoch: 0 });
    consume({ send: async () => (++tries < 8 ? { kind: 'later', delayMs: 0 } : { kind: 'done' }) });
    await eventually(async () => tries === 8 && !(await producer.hasSend(address, job(1).messageId)));
  });

  it('fails a poison job with a clear error while the others go on', async () => {
    const seen: string[] = [];
    const queue = bullQueue();
    await queue.add('send', { nonsense: true }, { jobId: 'poison-1', priority: 1 });
    await queue.add('no-such-job', {}, { jobId: 'poison-2', priority: 1 });
    await producer.addSend(job(1), { epoch: 0 });
    consume({ send: remember(seen) });
    await eventually(async () => seen.length === 1 && (await queue.getFailedCount()) === 2);
    expect((await queue.getJob('poison-1'))!.failedReason).to.match(/^invalid payload: v is required/);
    expect((await queue.getJob('poison-2'))!.failedReason).to.equal('no such kind of job');
  });

  it('wakes a send again whose job of this epoch has failed: a failed job keeps its id', async () => {
    let tries = 0;
    await producer.addSend(job(1), { epoch: 7 });
    consume({
      send: async () => {
        if (++tries === 1) throw new Error('Redis is loading');
        return { kind: 'done' };
      },
    });
    await eventually(async () => (await bullQueue().getFailedCount()) === 1);
    await producer.addSend(job(1), { epoch: 7 });
    await eventually(() => tries === 2);
    expect(await bullQueue().getFailedCount()).to.equal(0);
  });

  it('lets a job of higher priority overtake', async () => {
    const seen: string[] = [];
    for (const n of [1, 2]) await producer.addSend(job(n), { epoch: 0 });
    await producer.addSend({ ...job(3), priority: 'otp' }, { epoch: 0 });
    consume({ send: remember(seen) });
    await eventually(() => seen.length === 3);
    expect(seen[0]).to.equal(job(3).messageId);
  });
});
