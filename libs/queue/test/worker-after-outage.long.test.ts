import type { SendJob } from '@gateway/contracts/jobs';
import { createConsumer } from '@gateway/queue/consumer';
import { createProducer } from '@gateway/queue/producer';
import { inTime } from '@gateway/runtime/clock';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { silentLogger } from '@gateway/testkit/silent-logger';

const PROCESS = 'sender-host-1';
const SLOT = 0;
/** Longer than a worker waits for a job, after which it connects anew. */
const WATCH_MS = 30_000;
const CLOSE_MS = 5_000;

const job = (n: number): SendJob => ({
  ...{ v: 1, workspace: 'main', device: 'default', priority: 'otp', requestId: 'req_1' },
  messageId: `msg_${String(n).padStart(24, '0')}`,
});

describe('the worker of a queue on a Redis Cluster', () => {
  it('takes jobs again when the Cluster was down while it connected anew', async () => {
    const cluster = await startRedisCluster({ masters: 1, settings: ['--cluster-require-full-coverage', 'yes'] });
    const ask = async (...question: [string, ...(string | number)[]]) =>
      String(await askServer(cluster.shards[0]!.master.url, ...question));
    const clients = createRedisClients({ url: cluster.url, logger: silentLogger, purposes: ['queue'] });
    await clients.waitForReady();
    const taken: string[] = [];
    const queues = { connection: clients.queue, space: { prefix: 'gw' } };
    const consumer = createConsumer({
      ...{ ...queues, processId: PROCESS, concurrency: 2, logger: silentLogger },
      handlers: { send: async ({ messageId }) => void taken.push(messageId), sends: async () => {} },
    });
    const producer = createProducer(queues);
    const isTaken = (n: number) => () => taken.includes(job(n).messageId);
    /** A client asks when it has connected. */
    const looks = async () =>
      Number(/cmdstat_cluster\|info:calls=(\d+)/.exec(await ask('INFO', 'commandstats'))?.[1] ?? 0);
    try {
      await producer.addSend(PROCESS, job(1));
      await eventually(isTaken(1));
      await ask('CLUSTER', 'DELSLOTS', SLOT);
      const before = await looks();
      await eventually(async () => (await looks()) > before, { timeoutMs: WATCH_MS, what: 'it connects anew' });
      await ask('CLUSTER', 'ADDSLOTS', SLOT);
      await producer.addSend(PROCESS, job(2));
      await eventually(isTaken(2), { timeoutMs: WATCH_MS, what: 'it takes a job' });
    } finally {
      await producer.close();
      // One that waits for ever does not close.
      await inTime(consumer.close(), CLOSE_MS);
      await clients.close();
      await cluster.stop();
    }
  });
});
