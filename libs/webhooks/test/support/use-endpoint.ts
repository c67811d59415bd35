import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { NO_SHARDS } from '@gateway/contracts/shards';
import { makeWebhookSecret } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS, type WebhookStatus } from '@gateway/contracts/webhooks/webhook';
import { parseNetworks } from '@gateway/egress/address-rules';
import { KeptConnections } from '@gateway/egress/connections/kept-connections';
import { ByteBudget } from '@gateway/runtime/bytes/byte-budget';
import { sleep } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import { endSessions } from '@gateway/store/webhooks/delivering/owners';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook, readWebhook } from '@gateway/store/webhooks/webhooks';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { type DeliverOutcome, deliver } from '@gateway/webhooks/deliver';
import type { Feed, Told } from '@gateway/webhooks/feed';
import { PostedRanges } from '@gateway/webhooks/posted-ranges';
import { LongWays } from '@gateway/webhooks/turns/long-ways';
import type { DeliverDeps } from '@gateway/webhooks/work';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { ownerOf } from './owner-of.js';
import { silentCounts } from './silent-counts.js';

/** While a request is under way: no bell is heard here. */
const LOOK_AGAIN_MS = 100;
const ROOM_BYTES = 16 * 1024 * 1024;

interface Received {
  id: string;
  body: string;
  /** Numbers of its changes. */
  numbers: number[];
}

export interface Endpoint {
  space: RedisSpace;
  id: string;
  /** All that came, in order; each was verified. */
  received: Received[];
  /** Numbers of the changes in requests that were answered with a 2xx. */
  told: number[];
  /** How many requests that were. */
  receivedWell: number;
  /** Connections to it: that there were, and that there are. */
  sockets: { all: number; open: number };
  /** Of the clock that the deliverer gets. */
  nowMs: number;
  /** What it does with a request: the status, or nothing. */
  answer(request: number, res: ServerResponse): number | undefined;
  /** Whom a number is about: without this all are about the same one. */
  keyOf(number: number): string;
  /** Each number is an event that is told alone. */
  isAlone: boolean;
  /** Before a request with these numbers is made. */
  make(numbers: readonly number[]): Promise<void>;
  /** Changes that are one entry of the log. */
  write(...numbers: number[]): Promise<void>;
  deliver(deps?: Partial<DeliverDeps>): Promise<DeliverOutcome>;
  /** As long as there is something to do at once. */
  deliverAll(deps?: Partial<DeliverDeps>): Promise<DeliverOutcome>;
  /** As if the process that delivers had died long ago. */
  endSession(): Promise<void>;
  status(): Promise<WebhookStatus | undefined>;
  /** As its owner has it tested, now. */
  passTest(): Promise<void>;
}

interface NumberTold extends Told {
  number: number;
}

/** A stream of entries with numbers in place of the log: each is a list of changes. */
function feedOf(
  store: Store,
  log: string,
  { keyOf, isAlone, make }: Pick<Endpoint, 'keyOf' | 'isAlone' | 'make'>,
): Feed<NumberTold> {
  const read = async (from: string, to: string, count?: number) => {
    const rows = count
      ? await store.redis.xrange(log, from, to, 'COUNT', count)
      : await store.redis.xrange(log, from, to);
    return rows.map(([at, fields]) => ({ at, numbers: JSON.parse(fields[1]!) as number[] }));
  };
  const toTold = ({ at, numbers }: { at: string; numbers: number[] }): NumberTold[] =>
    numbers.map((number) => ({
      ...{ number, to: at },
      parks: { entry: at, id: `${number}`, type: 'number', ...(!isAlone && { device: 'd' }) },
    }));
  const toDelivery = (json: object) => {
    const body = Buffer.from(JSON.stringify(json));
    return { id: `evt_${createHash('sha256').update(body).digest('hex').slice(0, 16)}`, body, atMs: 0 };
  };
  return {
    async findEnd(_webhook, lane, { after, most }) {
      if (lane === 'lists') return undefined;
      let end: string | undefined;
      let changes = 0;
      for (const { at, numbers } of await read(`(${after}`, '+', most)) {
        if (changes > 0 && changes + numbers.length > most) break;
        changes += numbers.length;
        end = at;
        if (isAlone) break;
      }
      return end === undefined ? undefined : { to: end };
    },
    read: async (_webhook, _lane, { after, to }) => (await read(`(${after}`, to)).flatMap(toTold),
    findShards: async () => NO_SHARDS,
    findShardsOf: async (events) => events.map(() => 0),
    async readAgain(_webhook, events) {
      const entries = await Promise.all(events.map(({ entry }) => read(entry, entry)));
      return events.map(({ id }, i) => {
        const told = entries[i]!.flatMap(toTold).find(({ number }) => `${number}` === id);
        return entries[i]!.length === 0 ? 'gone' : told && { ...told, place: told.number };
      });
    },
    keyOf: (_lane, { number }) => keyOf(number),
    keyOfForgotten: (_lane, { number }) => `forgotten${number}`,
    idsOfForgotten: () => [],
    setKey: () => {},
    async pack(_webhook, told) {
      const numbers = told.map(({ number }) => number);
      await make(numbers);
      return toDelivery({ numbers });
    },
    packLost: (_webhook, gap) => toDelivery(gap),
  };
}

/** An endpoint that has passed its test, on a server of this host, and what delivers to it; new for each test. */
export function useEndpoint(): Endpoint {
  const stage = {} as Endpoint;
  let server: Server;
  let connections: KeptConnections;
  beforeEach(async () => {
    connections = new KeptConnections();
    const space = await openRedisSpace();
    const secret = makeWebhookSecret('v1');
    const verifier = new Webhook(secret);
    let requests = 0;
    server = createServer((req, res) => void take(req, res));
    server.on('connection', (socket) => {
      stage.sockets.all++;
      stage.sockets.open++;
      socket.once('close', () => stage.sockets.open--);
    });
    const take = async (req: IncomingMessage, res: ServerResponse) => {
      const body = (await buffer(req)).toString();
      // The library refuses signatures of another day.
      const isToday = Math.abs(stage.nowMs - Date.now()) < 60_000;
      if (isToday) verifier.verify(body, req.headers as Record<string, string>);
      const { numbers = [] } = JSON.parse(body) as { numbers?: number[] };
      stage.received.push({ id: String(req.headers['webhook-id']), body, numbers });
      const status = stage.answer(requests++, res);
      if (status === undefined) return;
      if (status < 300) {
        stage.told.push(...numbers);
        stage.receivedWell++;
      }
      res.writeHead(status).end();
    };
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const wanted = { settings: DEFAULT_WEBHOOK_SETTINGS, target: { url, headers: {} }, secrets: [{ secret }] };
    const made = await createWebhook(space.store, 'main', wanted);
    if (made === 'full') throw new Error('full');
    const attempt = { webhookId: 'evt_0', atMs: 0, tookMs: 0, status: 200, error: null, answer: '' };
    await recordAttempt(space.store, 'main', made.id, { attempt, verifiesRevision: made.revision });
    const log = `${space.prefix}:log`;
    const deps = (): DeliverDeps => ({
      known: {},
      ...{
        store: space.store,
        feed: feedOf(space.store, log, stage),
        owner: ownerOf('process-1'),
        random: () => 0.5,
      },
      counts: silentCounts,
      posted: new PostedRanges(),
      longWays: new LongWays(),
      memory: new ByteBudget(ROOM_BYTES),
      connections,
      untilNews: () => sleep(LOOK_AGAIN_MS),
      policy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
      clock: { nowMs: () => stage.nowMs, monotonicMs: () => performance.now() },
      signal: new AbortController().signal,
    });
    Object.assign(stage, {
      ...{
        space,
        id: made.id,
        received: [] as Received[],
        told: [] as number[],
        receivedWell: 0,
        sockets: { all: 0, open: 0 },
        nowMs: Date.now(),
        answer: () => 204,
      },
      keyOf: () => 'all',
      isAlone: false,
      make: async () => {},
      write: async (...numbers: number[]) =>
        void (await space.store.redis.xadd(log, '*', 'n', JSON.stringify(numbers))),
      deliver: (other: Partial<DeliverDeps> = {}) => deliver({ ...deps(), ...other }, 'main', made.id),
      async deliverAll(other?: Partial<DeliverDeps>) {
        for (;;) {
          const outcome = await stage.deliver(other);
          if (outcome !== 'more') return outcome;
        }
      },
      endSession: async () => {
        const owner = await space.store.redis.hget(workspaceKeys(space.store.space, 'main').webhook(made.id), 'owner');
        await endSessions(space.store, owner!);
      },
      status: async () => (await readWebhook(space.store, 'main', made.id))?.status,
      passTest: async () => {
        const now = { ...attempt, atMs: stage.nowMs };
        await recordAttempt(space.store, 'main', made.id, { attempt: now, verifiesRevision: made.revision });
      },
    } satisfies Endpoint);
  });
  afterEach(async () => {
    await connections.close();
    server.closeAllConnections();
    server.close();
    await stage.space.close();
    const bodies = new Map<string, string>();
    for (const { id, body } of stage.received) {
      expect(bodies.get(id) ?? body, 'bytes of a repeat').to.equal(body);
      bodies.set(id, body);
    }
  });
  return stage;
}
