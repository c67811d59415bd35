import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EVENT_ENTRY_VERSION } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { parseNetworks } from '@gateway/egress/address-rules';
import { systemClock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import type { TellLane } from '@gateway/store/webhooks/delivering/lanes';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { Deliveries } from '@gateway/webhooks/deliveries';
import { LongWays } from '@gateway/webhooks/turns/long-ways';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { silentCounts } from './support/silent-counts.js';

const ENDPOINTS = 8;
const ENTRIES = 20_000;
/** About the workspace, of now, without a part: nothing is told of it. */
const FILL = `
for i = 1, ${ENTRIES} do redis.call('XADD', KEYS[1], '*', 'e', ARGV[1]) end
return redis.call('XADD', KEYS[1], '*', 'e', ARGV[1])`;

describe('a workspace whose endpoints pass through a long log', () => {
  let space: RedisSpace;
  let server: Server;
  let deliveries: Deliveries | undefined;
  const requests: string[] = [];
  let status = 204;
  before(async () => {
    server = createServer((req, res) => {
      requests.push(req.url!);
      res.writeHead(status).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => server.close());
  beforeEach(async () => {
    space = await openRedisSpace();
    requests.length = 0;
    status = 204;
  });
  afterEach(async () => {
    await deliveries?.close();
    await space.close();
  });
  const make = (workspace: Workspace) =>
    createActiveWebhook(
      space.store,
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/${workspace}`,
      workspace,
    );
  const fill = () => {
    const entry = Buffer.alloc(8);
    entry.writeUInt8(EVENT_ENTRY_VERSION, 0);
    entry.writeUIntBE(Date.now(), 1, 6);
    return space.store.redis.eval(FILL, 1, workspaceKeys(space, 'busy').eventLog, entry) as Promise<string>;
  };
  const start = (store: Store) => {
    deliveries = new Deliveries({
      ...{ store, owner: ownerOf('process-1'), counts: silentCounts, logger: silentLogger },
      ...{ clock: systemClock, random: Math.random },
      policy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
    });
    return deliveries;
  };
  /** Counts who reads the log of the busy one at the same time, before its end. */
  const watch = (end: string) => {
    const reads = { now: 0, most: 0, all: 0 };
    const { eventLog } = workspaceKeys(space, 'busy');
    const read = space.store.redis.xrangeBuffer.bind(space.store.redis) as (...args: unknown[]) => Promise<unknown>;
    const value = async (key: string, from: string, ...rest: unknown[]) => {
      const counts = key === eventLog && from !== `(${end}` ? 1 : 0;
      reads.now += counts;
      reads.all += counts;
      reads.most = Math.max(reads.most, reads.now);
      return read(key, from, ...rest).finally(() => {
        reads.now -= counts;
      });
    };
    const redis = Object.create(space.store.redis, { xrangeBuffer: { value } });
    return { reads, store: { ...space.store, redis } };
  };
  const tellOther = (number: number) =>
    addOptOuts(space.store, 'quiet', { numbers: [`44770090000${number}`], source: 'api', atMs: Date.now() });

  it('holds up no other: few of them read it at a time', async () => {
    const ids = await Promise.all(Array.from({ length: ENDPOINTS }, () => make('busy')));
    await make('quiet');
    const end = await fill();
    const { reads, store } = watch(end);
    const cursors = async () => {
      const { webhook } = workspaceKeys(space, 'busy');
      const states = await Promise.all(
        ids.map((id) => space.store.redis.hmget(webhook(id), 'lane:prompt', 'lane:lists')),
      );
      return states.flat().map((state) => state && JSON.parse(state).cursor);
    };
    const first = new Set(await cursors());
    start(store);
    // That its way is long each has found out in one step.
    await eventually(async () => (await cursors()).every((cursor) => !first.has(cursor)));
    reads.most = 0;
    await tellOther(1);
    deliveries!.wake('quiet');
    await eventually(() => requests.length === 1);
    expect(reads.most).to.be.within(1, 4);
    expect(await cursors()).not.to.include(end);
  });

  it('tells what is to be told once more a few at a time', async () => {
    const ids = await Promise.all(Array.from({ length: ENDPOINTS }, () => make('busy')));
    const sinceMs = Date.now();
    const end = await fill();
    const { webhook } = workspaceKeys(space, 'busy');
    for (const id of ids) {
      const state = JSON.stringify({ cursor: end });
      await space.store.redis.hset(webhook(id), { 'lane:prompt': state, 'lane:lists': state });
      await replayWebhook(
        space.store,
        { workspace: 'busy', id },
        { afterMs: sinceMs, beforeMs: Date.now() },
        Date.now(),
      );
    }
    const { reads, store } = watch(end);
    start(store);
    const { webhookReplays } = workspaceKeys(space, 'busy');
    await eventually(async () => (await space.store.redis.llen(webhookReplays(ids[0]!))) === 0, { timeoutMs: 60_000 });
    expect(reads.most).to.be.within(1, 4);
  });

  it('looks a few at a time for what may be tried in the place of what is refused', async () => {
    status = 422;
    const ids = await Promise.all(Array.from({ length: ENDPOINTS }, () => make('busy')));
    const { webhook, eventLog } = workspaceKeys(space, 'busy');
    await addOptOuts(space.store, 'busy', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    const [[refused] = []] = await space.store.redis.xrange(eventLog, '-', '+');
    const end = await fill();
    for (const id of ids) {
      const prompt = JSON.stringify({ cursor: '0-1', claim: { to: refused, refusals: 3 } });
      const breaker = { failures: 3, sinceMs: Date.now(), nextAttemptMs: Date.now() + 600_000, told: 0 };
      await space.store.redis.hset(webhook(id), {
        ...{ 'lane:prompt': prompt, 'lane:lists': JSON.stringify({ cursor: end }) },
        ...{ status: 'failing', breaker: JSON.stringify(breaker) },
      });
    }
    const { reads, store } = watch(end);
    start(store);
    const ofAll = ENTRIES / 100;
    // That its way is long each has found out in one step.
    await eventually(() => reads.all > (ENDPOINTS * ofAll) / 5, { timeoutMs: 60_000 });
    reads.most = 0;
    await eventually(() => reads.all > (ENDPOINTS * ofAll) / 2, { timeoutMs: 60_000 });
    expect(reads.most).to.be.within(1, 4);
  });
});

describe('turns of those that have a long way', () => {
  const far = () => ({ workspace: 'busy', lane: 'prompt', known: { far: new Set<TellLane>(['prompt']) } }) as const;

  it('pass on while the Redis of some does not answer', async () => {
    const ways = new LongWays(100);
    const answers: (() => void)[] = [];
    const waiting = Array.from({ length: 8 }, () =>
      ways.look(far(), () => new Promise<undefined>((resolve) => answers.push(() => resolve(undefined)))),
    );
    expect(await ways.look(far(), async () => 'later')).to.equal('later');
    expect(answers).to.have.length(8);
    for (const answer of answers) answer();
    await Promise.all(waiting);
  });

  it('pass on where a look fails, which is told', async () => {
    const ways = new LongWays();
    const fail = () => ways.look(far(), () => Promise.reject(new Error('gone'))).catch((error: Error) => error.message);
    expect(await Promise.all(Array.from({ length: 9 }, fail))).to.deep.equal(Array.from({ length: 9 }, () => 'gone'));
    expect(await ways.look(far(), async () => undefined)).to.equal(undefined);
  });
});
