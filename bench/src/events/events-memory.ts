import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { parseMessageId } from '@gateway/contracts/ids';
import { DEFAULT_WEBHOOK_SETTINGS } from '@gateway/contracts/webhooks/webhook';
import { sleep } from '@gateway/runtime/clock';
import { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { eventually } from '@gateway/testkit/eventually';
import { takeDevice } from '@gateway/testkit/ownership';
import { makeNumbers } from '@gateway/testkit/phones';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { profileSettings } from '../config.js';
import type { BenchContext, Benchmark } from '../support/benchmark.js';
import { countCommands } from '../support/count-commands.js';
import { cpuMsOf, readResidentBytes } from '../support/process-usage.js';
import { rounded } from '../support/statistics.js';
import { makeKnown } from './make-known.js';

const ENDPOINTS = 50;
const DEVICES = 1_000;
/** Of the list of each device: small sends are told one by one. */
const RECIPIENTS = 12;
const STEPS = ['acked', 'delivered', 'read'] as const;
const CHANGES = DEVICES * RECIPIENTS * STEPS.length;
const AT_A_TIME = 20;
const LATE_MS = 240_000;
const GATHER_SECONDS = 5;
/** Behind the start of the process, and new endpoints. */
const SETTLE_MS = 10_000;
const IDLE_SECONDS = 60;
/** Its limit in k8s/base/events.yaml. */
const MAX_MB = 384;

/** What the events process needs when there is much to tell, and to many. */
export const eventsMemoryBenchmark: Benchmark = {
  name: 'events-memory',
  summary: `resident memory of the events process that tells ${ENDPOINTS} endpoints, one of them dead, of ${CHANGES} changes on ${DEVICES} devices / ${MAX_MB} MB`,
  goals: [
    { figure: 'ratio', atMost: 1 },
    { figure: 'untold', atMost: 0 },
  ],
  async run(context) {
    const { lifecycle, say } = context;
    const space = await openRedisSpace();
    lifecycle.add('redis space', () => space.close());
    const endpoints = await serve(context, space);
    const { told } = endpoints;
    // Of its own: `MONITOR` costs Redis more than what it shows, and is over before there is much to tell.
    const counting = new Lifecycle({ logger: silentLogger });
    const takeCounts = await countCommands(counting, space);
    const idlePerSecond = async () => {
      await sleep(SETTLE_MS);
      takeCounts();
      await sleep(IDLE_SECONDS * 1000);
      return rounded(takeCounts().commands / IDLE_SECONDS);
    };
    await endpoints.add(1);
    const events = await ServiceProcess.start('events', {
      ...{ REDIS_URL: space.url, KEY_PREFIX: space.prefix, WEBHOOK_NETWORKS: '127.0.0.1/32' },
      ...{ ...space.keySettings, ...profileSettings() },
    });
    lifecycle.add('events', async () => void (await events.stop()));
    const withOne = await idlePerSecond();
    await endpoints.add(ENDPOINTS - 1);
    const idleCommandsPerSecond = { withOne, withAll: await idlePerSecond() };
    await counting.stop();
    say(JSON.stringify({ idleCommandsPerSecond }));
    const base = readResidentBytes(events.pid);
    const cpuBefore = cpuMsOf([events.pid]);
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, readResidentBytes(events.pid));
    }, 200);
    lifecycle.add('watch', async () => clearInterval(watch));
    await change(space);
    const wanted = CHANGES * (ENDPOINTS - 1);
    await eventually(() => told.changes >= wanted, { timeoutMs: LATE_MS, what: 'all changes told' }).catch(() => {});
    clearInterval(watch);
    const cpuMs = cpuMsOf([events.pid]) - cpuBefore;
    await sleep(GATHER_SECONDS * 1000);
    const afterwards = readResidentBytes(events.pid);
    say(`${told.requests} requests`);
    const [peakMb, baseMb, afterwardsMb] = [peak, base, afterwards].map((bytes) => rounded(bytes / 1024 / 1024));
    return {
      ...{ ratio: rounded(peakMb! / MAX_MB), ours: peakMb!, baseline: MAX_MB, unit: 'MB', runs: 1 },
      ...{ baseMb, afterwardsMb, untold: wanted - told.changes, requests: told.requests, idleCommandsPerSecond },
      cpuMsPerThousandChangesTold: rounded((cpuMs / told.changes) * 1000),
    };
  },
};

interface Endpoints {
  told: { changes: number; requests: number };
  add(count: number): Promise<void>;
}

/** One server; the last of its endpoints takes nothing. */
async function serve({ lifecycle }: BenchContext, { store }: RedisSpace): Promise<Endpoints> {
  const told = { changes: 0, requests: 0 };
  const server = createServer(async (req, res) => {
    const body = await buffer(req);
    if (req.url === '/dead') return void res.writeHead(503).end();
    res.writeHead(204).end();
    told.requests++;
    told.changes += (JSON.parse(body.toString()).data.changes ?? []).length;
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  lifecycle.add('endpoints', async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  // The end of each of so many small lists would be a request of its own.
  const types = ['messages.updated', 'events.gap'];
  const settings = { ...DEFAULT_WEBHOOK_SETTINGS, types, gatherSeconds: GATHER_SECONDS };
  let added = 0;
  const add = async (count: number) => {
    for (const end = added + count; added < end; added++) {
      const url = `http://127.0.0.1:${port}/${added === ENDPOINTS - 1 ? 'dead' : added}`;
      await makeKnown(store, { url, settings });
    }
  };
  return { told, add };
}

/** A list on each device, whose people read it. */
async function change({ store }: RedisSpace): Promise<void> {
  const recipients = makeNumbers(RECIPIENTS);
  const devices = Array.from({ length: DEVICES }, (_, i) => `device-${i}`).values();
  const work = async () => {
    for (const device of devices) {
      const address = { workspace: 'main', device };
      await ensureDevice(store, address);
      const owner = (await takeDevice(store, address, { owner: 'bench', ttlMs: 60_000 }))!;
      const nowMs = Date.now();
      const { messageId } = await acceptSend(store, address, {
        ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients, owner: 'bench' },
        ...{ requestId: 'bench', nowMs, expiresAtMs: nowMs + 3_600_000 },
      });
      const { tag } = parseMessageId(messageId)!;
      for (const event of STEPS) {
        const events = recipients.map((_, recipient) => ({ recipient, part: 0, event }));
        await recordResults(store, owner, { tag, nowMs: Date.now(), events });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
}
