import type { SendJob } from '@gateway/contracts/jobs';
import { queueName, queuePrefix, queuesKey } from '@gateway/contracts/redis-keys';
import { type Consumer, createConsumer } from '@gateway/queue/consumer';
import { createProducer, type Producer } from '@gateway/queue/producer';
import { removeSilentQueues } from '@gateway/queue/queues';
import { type Deferred, defer } from '@gateway/runtime/deferred';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { Queue } from 'bullmq';
import { expect } from 'chai';

const PROCESS = 'sender-host-1';
const HOUR_MS = 3_600_000;
const OFTEN_MS = 100;

describe('a queue that is paused', () => {
  let space: RedisSpace;
  let producer: Producer;
  let queue: Queue;
  let consumer: Consumer | undefined;
  let seen: string[];
  let warnings: string[];
  let firstJob: Deferred<void>;

  beforeEach(async () => {
    space = await openRedisSpace();
    producer = createProducer(queues());
    queue = new Queue(queueName(PROCESS), { ...queues(), prefix: queuePrefix(space.store.space) });
    [seen, warnings, firstJob, consumer] = [[], [], defer(), undefined];
  });
  afterEach(async () => {
    firstJob.resolve();
    await consumer?.close();
    await queue.close();
    await producer.close();
    await space.close();
  });

  const queues = () => ({ connection: space.clients.commands, space: space.store.space });
  const add = (n: number) =>
    producer.addSend(PROCESS, {
      ...{ v: 1, workspace: 'main', device: 'phone-1', requestId: 'r', priority: 'bulk' },
      messageId: idOf(n),
    });
  function consume(tidyEveryMs?: number): void {
    const send = async ({ messageId }: SendJob) => {
      if (seen.push(messageId) === 1) await firstJob.promise;
    };
    consumer = createConsumer({
      ...{ ...queues(), processId: PROCESS, concurrency: 10, ...(tidyEveryMs && { tidyEveryMs }) },
      logger: { ...silentLogger, warn: (line) => void warnings.push(line) },
      handlers: { send, sends: async ({ sends }) => void (await Promise.all(sends.map(send))) },
    });
  }
  const hasSeen = (n: number) => eventually(() => seen.includes(idOf(n)), { what: `job ${n}` });

  it('goes on the next time its process looks, which says so in the log', async () => {
    consume(OFTEN_MS);
    firstJob.resolve();
    await add(1);
    await hasSeen(1);
    await queue.pause();
    await add(2);
    await hasSeen(2);
    expect(warnings).to.include('the queue of this process was paused: it goes on');
  });

  it('goes on as soon as its process starts', async () => {
    await queue.pause();
    await add(1);
    consume();
    await hasSeen(1);
  });

  it('goes on where it was to be obliterated while a job was under way', async () => {
    consume(OFTEN_MS);
    await add(1);
    await hasSeen(1);
    const refused = await queue.obliterate().catch(({ message }: Error) => message);
    expect(refused).to.include('active');
    await add(2);
    await hasSeen(2);
    await eventually(async () => !(await queue.isPaused()));
  });

  it('goes on where its removal by another process broke off, as its own had stood still', async () => {
    const { commands } = space.clients;
    await add(1);
    await eventually(async () => (await commands.zscore(queuesKey(space.store.space), PROCESS)) !== null);
    await commands.zadd(queuesKey(space.store.space), Date.now() - HOUR_MS, PROCESS);
    // Behind its first step, which pauses the queue.
    await commands.set(queue.toKey('completed'), 'no sorted set');
    const broken = await removeSilentQueues(queues()).catch(({ message }: Error) => message);
    expect(broken).to.include('WRONGTYPE');
    expect(await queue.isPaused()).to.equal(true);
    await commands.del(queue.toKey('completed'));
    await add(2);
    consume();
    await hasSeen(2);
  });

  it('is what the log tells of, and nothing else', async () => {
    const { commands } = space.clients;
    const notedAt = () => commands.zscore(queuesKey(space.store.space), PROCESS);
    consume(OFTEN_MS);
    await add(1);
    await hasSeen(1);
    for (let round = 1; round <= 3; round++) {
      const before = await notedAt();
      await eventually(async () => (await notedAt()) !== before);
    }
    expect(warnings).to.deep.equal([]);
  });
});

function idOf(n: number): string {
  return `msg_${String(n).padStart(24, '0')}`;
}
