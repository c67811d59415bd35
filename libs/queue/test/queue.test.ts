import { setImmediate } from 'node:timers/promises';
import { MAX_SENDS_PER_JOB, type SendJob } from '@gateway/contracts/jobs';
import { queueName, queuePrefix, queuesKey } from '@gateway/contracts/redis-keys';
import { type Consumer, createConsumer, type JobHandlers } from '@gateway/queue/consumer';
import { createProducer, type Producer } from '@gateway/queue/producer';
import { removeSilentQueues } from '@gateway/queue/queues';
import { createLogger } from '@gateway/runtime/logs/logger';
import { deleteWorkspace } from '@gateway/store/workspace/delete-workspace';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { Queue, Worker } from 'bullmq';
import { expect } from 'chai';

const PROCESS = 'sender-host-1';
const HOUR_MS = 3_600_000;

describe('the queue of a process', () => {
  let space: RedisSpace;
  let producer: Producer;
  let consumers: Consumer[];
  let errors: string[];

  beforeEach(async () => {
    space = await openRedisSpace();
    producer = createProducer({ connection: space.clients.commands, space: space.store.space });
    [consumers, errors] = [[], []];
  });
  afterEach(async () => {
    await Promise.all(consumers.map((consumer) => consumer.close()));
    await producer.close();
    await space.close();
  });

  const queues = () => ({ connection: space.clients.commands, space: space.store.space });
  const allOf =
    (send: JobHandlers['send']): JobHandlers['sends'] =>
    async ({ sends }) =>
      void (await Promise.all(sends.map(send)));
  function consume(
    send: JobHandlers['send'],
    { processId = PROCESS, concurrency = 10, sends = allOf(send) } = {},
  ): void {
    const logger = {
      ...createLogger({ service: 'test', level: 'error' }),
      error: (_line: string, { error }: { error?: Error }) => void errors.push(error!.message),
    };
    consumers.push(
      createConsumer({ ...queues(), processId, handlers: { send, sends }, concurrency, logger: logger as never }),
    );
  }
  const job = (n: number, device = 'phone-1'): SendJob => ({
    ...{ v: 1, workspace: 'main', device, requestId: 'r', priority: 'bulk' },
    messageId: `msg_${String(n).padStart(24, '0')}`,
  });
  const add = (n: number, device?: string) => producer.addSend(PROCESS, job(n, device));
  const keysOf = (processId: string) =>
    space.clients.commands.keys(`${queuePrefix(space.store.space)}:${queueName(processId)}:*`);
  const bullQueue = () => new Queue(queueName(PROCESS), { ...queues(), prefix: queuePrefix(space.store.space) });

  it('says nothing of a workspace that was deleted, while its process is dead', async () => {
    const ofShop = (n: number, priority: SendJob['priority']) => ({ ...job(n), workspace: 'shop', priority });
    await Promise.all([
      add(1),
      producer.addSend(PROCESS, ofShop(2, 'otp')),
      producer.addSend(PROCESS, ofShop(3, 'bulk')),
    ]);
    await add(4);
    const { deleted, proof } = await deleteWorkspace(space.store, 'shop', { logoutMs: 0, closingMs: 0 });
    expect(deleted.entries).to.equal(2);
    expect(proof.entriesLookedAt).to.be.above(0);
    const queue = bullQueue();
    const jobs = await queue.getJobs();
    expect(jobs.map(({ data }) => data.messageId)).to.deep.equal([job(4).messageId]);
    const { commands } = space.clients;
    const named = [await keysOf(PROCESS), await commands.zrange(queue.toKey('prioritized'), 0, '-1')];
    const told = await commands.xrange(queue.toKey('events'), '-', '+');
    expect(JSON.stringify([named, told]))
      .to.include(queue.name)
      .and.not.include(job(2).messageId);
    await queue.close();
  });

  it('says nothing of the sends of a workspace that was deleted when all were handled', async () => {
    let handled = 0;
    consume(async () => void handled++);
    await producer.addSend(PROCESS, { ...job(2), workspace: 'shop' });
    const queue = bullQueue();
    await eventually(async () => handled === 1 && (await queue.getJobs()).length === 0);
    const told = async () => JSON.stringify(await space.clients.commands.xrange(queue.toKey('events'), '-', '+'));
    expect(await told()).to.include(job(2).messageId);
    await deleteWorkspace(space.store, 'shop', { logoutMs: 0, closingMs: 0 });
    expect(await told()).not.to.include(job(2).messageId);
    await queue.close();
  });

  it('hands over the jobs of all its devices, each once, and leaves nothing behind', async () => {
    const seen: string[] = [];
    for (const n of [1, 2, 2]) await add(n);
    await add(3, 'phone-2');
    consume(async ({ device, messageId }) => void seen.push(`${device} ${messageId.at(-1)}`));
    await eventually(async () => seen.length === 3 && (await bullQueue().getJobs()).length === 0);
    expect(seen).to.deep.equal(['phone-1 1', 'phone-1 2', 'phone-2 3']);
  });

  it('tells of lists that were accepted in one moment by few jobs, of each once, and of a code by its own', async () => {
    const told: string[] = [];
    const note = async ({ messageId }: SendJob) => void told.push(messageId);
    const lists = Array.from({ length: 2 * MAX_SENDS_PER_JOB + 1 }, (_, n) => job(n, `phone-${n % 3}`));
    const code = job(999);
    await Promise.all([
      ...lists.map((list) => producer.addSend(PROCESS, list)),
      producer.addSend(PROCESS, { ...code, priority: 'otp' }),
    ]);
    expect((await bullQueue().getJobs()).map(({ name }) => name).sort()).to.deep.equal([
      'send',
      'send',
      'sends',
      'sends',
    ]);
    consume(note, { concurrency: 1 });
    await eventually(() => told.length === lists.length + 1);
    expect(told[0], 'the code is first').to.equal(code.messageId);
    expect(told.slice(1).sort()).to.deep.equal(lists.map(({ messageId }) => messageId));
    expect(errors).to.deep.equal([]);
  });

  it('tells of a list that comes while a job is being added by the next one', async () => {
    const first = add(1);
    // From the next turn of the event loop on it is on its way.
    for (let turn = 0; turn < 2; turn++) await setImmediate();
    await Promise.all([first, add(2), add(3)]);
    const names = (await bullQueue().getJobs()).map(({ name }) => name);
    expect(names.sort()).to.deep.equal(['send', 'sends']);
  });

  it('adds what it was told before it closes', async () => {
    const added = [add(1), add(2)];
    await producer.close();
    await Promise.all(added);
    expect(await bullQueue().getJobs()).to.have.length(1);
  });

  it('passes on what is asked for again while the first job is stuck with a worker that never heard of it', async () => {
    await add(1);
    const { connection } = queues();
    const deaf = new Worker(queueName(PROCESS), null, { connection, prefix: queuePrefix(space.store.space) });
    expect((await deaf.getNextJob('lost'))?.id).to.equal(job(1).messageId);
    await deaf.close();
    const seen: string[] = [];
    consume(async ({ messageId }) => void seen.push(messageId));
    await producer.addSend(PROCESS, job(1), { again: true });
    await eventually(() => seen.length === 1);
  });

  it('has a connection for any number of devices', async () => {
    const clients = async () => {
      const list = (await space.clients.commands.client('LIST')) as string;
      return list.split('\n').filter((line) => line.includes(`${queueName(PROCESS)}`)).length;
    };
    let taken = 0;
    consume(async () => void taken++);
    for (let n = 0; n < 50; n++) await add(n, `phone-${n}`);
    await eventually(() => taken === 50);
    expect(await clients()).to.be.at.most(1);
  });

  it('fails a poison job with a clear error while the others go on', async () => {
    const seen: string[] = [];
    await bullQueue().add('send', { nonsense: true }, { jobId: 'poison-1', priority: 1 });
    await bullQueue().add('no-such-job', {}, { jobId: 'poison-2', priority: 1 });
    await add(1);
    consume(async ({ messageId }) => void seen.push(messageId));
    await eventually(() => seen.length === 1 && errors.length === 2);
    expect(errors[0]).to.match(/^invalid payload: v is required/);
    expect(errors[1]).to.equal('no such kind of job');
  });

  it('takes a wake-up again whose handler has failed', async () => {
    let attempts = 0;
    consume(async () => {
      if (++attempts === 1) throw new Error('Redis is loading');
    });
    await add(1);
    await eventually(() => errors.length === 1);
    await eventually(async () => {
      await add(1);
      return attempts >= 2;
    });
  });

  it('lets a job of higher priority overtake', async () => {
    const seen: string[] = [];
    for (const n of [1, 2]) await add(n);
    await producer.addSend(PROCESS, { ...job(3), priority: 'otp' });
    consume(async ({ messageId }) => void seen.push(messageId), { concurrency: 1 });
    await eventually(() => seen.length === 3);
    expect(seen[0]).to.equal(job(3).messageId);
  });

  it('gets jobs while the list of queues cannot be written, and is noted there later', async () => {
    const { commands } = space.clients;
    const zadd = commands.zadd.bind(commands);
    let failures = 0;
    const fail = async () => {
      failures++;
      throw new Error('its node is away');
    };
    Object.assign(commands, { zadd: fail });
    for (const n of [1, 2]) await add(n);
    expect(await bullQueue().getJobs()).to.have.length(2);
    expect(failures, 'one attempt at a time, for any number of jobs').to.equal(1);
    Object.assign(commands, { zadd });
    await eventually(async () => (await commands.zcard(queuesKey(space.store.space))) === 1);
  });

  it('gets jobs while the list of queues does not answer', async () => {
    const { commands } = space.clients;
    const zadd = commands.zadd.bind(commands);
    Object.assign(commands, { zadd: () => new Promise(() => {}) });
    await add(1);
    Object.assign(commands, { zadd });
    expect(await bullQueue().getJobs()).to.have.length(1);
  });

  it('is removed when its process has ended; one that was only frozen goes on', async () => {
    let taken = 0;
    await producer.addSend('dead', job(1));
    consume(async () => void taken++);
    await add(2);
    await eventually(
      async () => taken === 1 && (await space.clients.commands.zcard(queuesKey(space.store.space))) === 2,
    );
    await removeSilentQueues(queues());
    expect(await keysOf('dead'), 'in use a moment ago').not.to.deep.equal([]);
    for (const processId of ['dead', PROCESS]) {
      await space.clients.commands.zadd(queuesKey(space.store.space), Date.now() - HOUR_MS, processId);
    }
    await removeSilentQueues(queues());
    expect(await keysOf('dead')).to.deep.equal([]);
    expect(await space.clients.commands.zcard(queuesKey(space.store.space))).to.equal(0);
    await add(3);
    await eventually(() => taken === 2);
  });

  it('is removed also when that of another one, silent for longer, cannot be', async () => {
    const { commands } = space.clients;
    for (const [i, processId] of ['broken', 'dead'].entries()) {
      await producer.addSend(processId, job(i));
      await eventually(async () => (await commands.zscore(queuesKey(space.store.space), processId)) !== null);
      await commands.zadd(queuesKey(space.store.space), Date.now() - (9 - i) * HOUR_MS, processId);
    }
    const [meta] = (await keysOf('broken')).filter((key) => key.endsWith(':meta'));
    await commands.set(meta!, 'no hash');
    const error = await removeSilentQueues(queues()).catch(({ message }: Error) => message);
    expect(error).to.include('WRONGTYPE');
    expect(await keysOf('dead')).to.deep.equal([]);
    expect(await commands.zrange(queuesKey(space.store.space), 0, '-1')).to.deep.equal(['broken']);
  });
});
