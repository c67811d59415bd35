import { type Job, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { type Methods, serve } from './child.js';
import { linkStock, type Network, type StockSocket, sendStock } from './stock-client.js';

const LINKS_AT_A_TIME = 4;

interface Paced {
  redisUrl: string;
  /** To each of these once. */
  numbers: string[];
  text: string;
  /** Between two messages of a client. */
  everyMs: number;
}

/** Stock clients of one process, which all send. */
const methods = {
  link: async ({ network, numbers }: { network: Network; numbers: string[] }): Promise<void> => {
    const left = numbers.values();
    const linkInTurn = async () => {
      for (const number of left) sockets.push((await linkStock(network, number)).socket);
    };
    await Promise.all(Array.from({ length: LINKS_AT_A_TIME }, linkInTurn));
  },
  /** Every client to all numbers. */
  send: async (list: { numbers: string[]; text: string; inFlight: number }): Promise<void> => {
    await Promise.all(sockets.map((socket) => sendStock(socket, list)));
  },
  /**
   * The same, each client at its pace: a BullMQ job per message, due at its time. One queue and one worker serve all clients,
   * which is less than the usual queue for each.
   */
  sendPaced: async ({ redisUrl, numbers, text, everyMs }: Paced): Promise<void> => {
    const name = `paced-${process.pid}`;
    const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
    const queue = new Queue(name, { connection });
    const worker = new Worker(
      name,
      async ({ data: { client, number } }: Job<{ client: number; number: string }>) => {
        await sendStock(sockets[client]!, { numbers: [number], text, inFlight: 1 });
      },
      { connection, concurrency: sockets.length },
    );
    const total = sockets.length * numbers.length;
    let done = 0;
    const finished = new Promise<void>((resolve) => {
      worker.on('completed', () => {
        done += 1;
        if (done === total) resolve();
      });
    });
    const jobs = sockets.flatMap((_, client) =>
      numbers.map((number, turn) => ({
        name: 'send',
        data: { client, number },
        opts: { delay: Math.round((turn + client / sockets.length) * everyMs), removeOnComplete: true },
      })),
    );
    await queue.addBulk(jobs);
    await finished;
    await worker.close();
    await queue.close();
    await connection.quit();
  },
} satisfies Methods;

export type StockFleetMethods = typeof methods;

const sockets: StockSocket[] = [];
// The library's Signal code prints whole sessions whenever it closes one.
Object.assign(console, { info: () => {}, warn: () => {}, error: () => {}, log: () => {} });
serve(methods);
