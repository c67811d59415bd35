import { parseNetworks } from '@gateway/egress/address-rules';
import { systemClock } from '@gateway/runtime/clock';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { createStore } from '@gateway/store/core/store';
import { type RedisSpace, readKeyRings } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { Deliveries } from '@gateway/webhooks/deliveries';
import { ownerOf } from './owner-of.js';
import { silentCounts } from './silent-counts.js';

/** What this process is started with, as JSON. */
export interface DeliveringStart extends Pick<RedisSpace, 'url' | 'prefix' | 'keySettings'> {
  /** Of names. */
  servers?: string[];
}

/** In bytes. */
export interface Memory {
  /** Of objects that are in use. */
  heap: number;
  buffers: number;
  resident: number;
}

/** `wake`: something has happened there. `memory`: now. `peak`: the most since that was asked; its heap is as it is now. */
export type DeliveringQuestion = { wake: string } | 'memory' | 'peak';

/** `memory` if that was asked, and how many warnings Node.js has given. */
export interface DeliveringAnswer {
  memory?: Memory;
  warnings: number;
}

const LOOK_MS = 20;

// A process of its own, as in production: what other tests leave behind takes no memory of it.
const { url, prefix, keySettings, servers } = JSON.parse(process.argv[2]!) as DeliveringStart;
const collectGarbage = (globalThis as { gc?: () => void }).gc!;
const clients = createRedisClients({ url, logger: silentLogger });
const store = createStore({ redis: clients.commands, space: { prefix }, keyRings: readKeyRings(keySettings) });
let warnings = 0;
process.on('warning', () => warnings++);
const peak = { buffers: 0, resident: 0 };
const look = () => {
  peak.buffers = Math.max(peak.buffers, process.memoryUsage().external);
  peak.resident = Math.max(peak.resident, process.memoryUsage.rss());
};
const timer = setInterval(look, LOOK_MS);

const deliveries = new Deliveries({
  ...{ store, owner: ownerOf('process-1'), counts: silentCounts, logger: silentLogger },
  ...{ clock: systemClock, random: Math.random },
  policy: {
    ...{ isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
    ...(servers && { names: { servers } }),
  },
});

function memoryAt(question: 'memory' | 'peak'): Memory {
  collectGarbage();
  const heap = process.memoryUsage().heapUsed;
  if (question === 'memory') Object.assign(peak, { buffers: 0, resident: 0 });
  look();
  return { heap, ...peak };
}

process.on('message', (question: DeliveringQuestion) => {
  if (typeof question === 'object') return deliveries.wake(question.wake);
  process.send!({ memory: memoryAt(question), warnings } satisfies DeliveringAnswer);
});
process.once('disconnect', async () => {
  clearInterval(timer);
  await deliveries.close();
  await clients.close();
});
