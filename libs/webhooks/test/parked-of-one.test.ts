import { EVENT_LOG } from '@gateway/contracts/events/entry';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { claimDelivery, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { listParked, readParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { useEndpoint } from './support/use-endpoint.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const RECIPIENTS = 100;

describe('what is put aside of one recipient', () => {
  const endpoint = useEndpoint();
  const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);
  const place = () => ({ workspace: 'main', id: endpoint.id });
  const keys = () => {
    const { webhookParked: parked, webhookParkedDue: due, webhookParkedSince: since } = keysOfWorkspace();
    return { parked: parked(endpoint.id), due: due(endpoint.id), since: since(endpoint.id) };
  };
  const keysOfWorkspace = () => workspaceKeys(endpoint.space.store.space, 'main');
  const parkedIds = async (key: string) => {
    const [found] = await readParked(endpoint.space.store, place(), [key]);
    return found?.events.map(({ id }) => Number(id));
  };
  const refuse = (bad: ReadonlySet<number>) => {
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.some((number) => bad.has(number)) ? 422 : 204);
  };
  const rest = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      await endpoint.deliverAll();
      endpoint.nowMs += MINUTE_MS;
    }
  };
  const lost = () =>
    endpoint.received.reduce((sum, { body }) => sum + ((JSON.parse(body) as { lost?: number }).lost ?? 0), 0);
  beforeEach(() => {
    endpoint.keyOf = (number) => `k${number % RECIPIENTS}`;
  });

  it('is a thousand events at most: then those behind the one that is refused go, and its clock goes on', async () => {
    const { maxParkedOfOne } = WEBHOOK_LIMITS;
    refuse(new Set([3]));
    await endpoint.write(...numbers(10));
    await rest(10);
    expect(await parkedIds('k3')).to.deep.equal([3]);
    const ofOne = numbers(maxParkedOfOne + 20, 1).map((n) => 3 + n * RECIPIENTS);
    for (let from = 0; from < ofOne.length; from += 40) {
      await endpoint.write(...ofOne.slice(from, from + 40), 4 + from * RECIPIENTS);
      await endpoint.deliverAll();
    }
    const failed = endpoint.received.length - endpoint.receivedWell;
    expect(await parkedIds('k3')).to.deep.equal([3, ...ofOne.slice(21)]);
    expect([failed <= 12, lost()]).to.deep.equal([true, 21]);
    expect(await endpoint.space.store.redis.hget(keysOfWorkspace().webhook(endpoint.id), 'parkedEvents')).to.equal(
      `${maxParkedOfOne}`,
    );
    refuse(new Set());
    await rest(20);
    expect(endpoint.told.filter((number) => number % RECIPIENTS === 3)).to.deep.equal([3, ...ofOne.slice(21)]);
    expect(await parkedIds('k3')).to.equal(undefined);
  });

  it('is less than what is put aside of opt-outs, which have one order for all people', async () => {
    const { store } = endpoint.space;
    const taken = await takeWebhook(store, place(), ownerOf('process-1'));
    if (typeof taken === 'string') throw new Error(taken);
    const types = { one: 'message.read', all: 'optout.added' };
    const changes = Object.entries(types).flatMap(([key, type]) =>
      numbers(WEBHOOK_LIMITS.maxParkedOfOne + 1).map(
        (n) => ({ what: 'add', key, event: { entry: '1-1', id: `${n}`, type } }) as const,
      ),
    );
    const write = { lane: 'prompt', state: { cursor: '1-1' }, changes, nowMs: endpoint.nowMs } as const;
    expect(await claimDelivery(store, taken, write)).to.equal(true);
    expect((await parkedIds('one'))![0]).to.equal(1);
    expect((await parkedIds('all'))![0]).to.equal(0);
  });

  it('waits for a replay once 72 hours are over, until the log has the refused one no more; then what follows is told', async () => {
    refuse(new Set([3]));
    await endpoint.write(...numbers(10));
    const { store } = endpoint.space;
    const log = `${endpoint.space.prefix}:log`;
    const [[entry] = []] = await store.redis.xrange(log, '-', '+');
    await rest(10);
    await endpoint.write(103);
    for (let hour = 0; hour < 80; hour++) {
      endpoint.nowMs += HOUR_MS;
      await endpoint.deliverAll();
    }
    const [shown] = await listParked(store, place(), { limit: 1 });
    expect([shown?.dueMs, await parkedIds('k3')]).to.deep.equal([null, [3, 103]]);
    const before = endpoint.received.length;
    // Still there, as nothing was written since: it is refused once more, and waits on.
    endpoint.nowMs = Number(entry!.split('-')[0]) + EVENT_LOG.keptMs;
    await endpoint.deliverAll();
    expect([endpoint.received.length - before, await parkedIds('k3')]).to.deep.equal([1, [3, 103]]);
    await store.redis.xdel(log, entry!);
    endpoint.nowMs += HOUR_MS;
    await endpoint.deliverAll();
    expect([endpoint.told.filter((number) => number === 3 || number === 103), lost()]).to.deep.equal([[103], 1]);
    expect(await parkedIds('k3')).to.equal(undefined);
  });

  describe('as the version before wrote it', () => {
    /** A clock and its events, in lines. */
    const writeFormer = async (key: string, clock: object, ids: readonly number[], due: number | 'inf') => {
      const { redis } = endpoint.space.store;
      const [[entry] = []] = await redis.xrange(`${endpoint.space.prefix}:log`, '-', '+');
      const events = ids.map((id) => ({ entry, id: `${id}`, type: 'number', device: 'd' }));
      const lines = [clock, ...events].map((each) => JSON.stringify(each)).join('\n');
      await redis.hset(keys().parked, key, lines);
      await redis.zadd(keys().due, due, key);
      await redis.zadd(keys().since, endpoint.nowMs, key);
      await redis.hincrby(keysOfWorkspace().webhook(endpoint.id), 'parkedEvents', ids.length);
    };
    beforeEach(async () => {
      await endpoint.write(...numbers(500));
      await endpoint.deliverAll();
      endpoint.told.length = 0;
    });

    it('is told, in order, with what comes behind it', async () => {
      await writeFormer('k7', {}, [7, 107], endpoint.nowMs + HOUR_MS);
      await writeFormer('k8', { failures: 3, sinceMs: endpoint.nowMs }, [8, 108], endpoint.nowMs + HOUR_MS);
      expect([await parkedIds('k7'), await parkedIds('k8')]).to.deep.equal([
        [7, 107],
        [8, 108],
      ]);
      const shown = await listParked(endpoint.space.store, place(), { limit: 9, ofEach: 1 });
      expect(shown.map(({ count, clock }) => [count, clock.failures])).to.deep.equal([
        [2, undefined],
        [2, 3],
      ]);
      await endpoint.write(507);
      await endpoint.deliverAll();
      expect(endpoint.told).to.deep.equal([]);
      expect(await parkedIds('k7')).to.deep.equal([7, 107, 507]);
      endpoint.nowMs += HOUR_MS;
      await endpoint.deliverAll();
      expect([...endpoint.told].sort((one, other) => one - other)).to.deep.equal([7, 8, 107, 108, 507]);
      for (const key of ['k7', 'k8']) expect(await parkedIds(key), key).to.equal(undefined);
      expect(await endpoint.space.store.redis.hlen(keys().parked)).to.equal(0);
    });

    it('is told, also if a process of that version has put more aside since', async () => {
      const { redis } = endpoint.space.store;
      await writeFormer('k7', {}, [7], endpoint.nowMs + HOUR_MS);
      await endpoint.write(507);
      await endpoint.deliverAll();
      const [[entry] = []] = await redis.xrange(`${endpoint.space.prefix}:log`, '-', '+');
      const head = await redis.hget(keys().parked, 'k7');
      const event = JSON.stringify({ entry, id: '207', type: 'number', device: 'd' });
      await redis.hset(keys().parked, 'k7', `${head}\n${event}`);
      expect(await parkedIds('k7')).to.deep.equal([7, 507, 207]);
      await endpoint.write(607);
      await endpoint.deliverAll();
      endpoint.nowMs += HOUR_MS;
      await endpoint.deliverAll();
      expect(endpoint.told, 'in the order of the log').to.deep.equal([7, 207, 507, 607]);
    });

    it('is told once another process takes the endpoint: what was given up for ever, and what one of that version left of it', async () => {
      const { redis } = endpoint.space.store;
      const webhook = keysOfWorkspace().webhook(endpoint.id);
      const parkedEvents = () => redis.hget(webhook, 'parkedEvents');
      refuse(new Set([507]));
      await endpoint.write(507);
      await endpoint.write(...numbers(9, 508));
      await rest(5);
      await endpoint.write(607, 707);
      await endpoint.deliverAll();
      expect([await parkedIds('k7'), await parkedEvents()]).to.deep.equal([[507, 607, 707], '3']);
      endpoint.told.length = 0;
      // As it makes room: the key goes, with one event as it seems.
      await redis.hdel(keys().parked, 'k7');
      for (const key of [keys().due, keys().since]) await redis.zrem(key, 'k7');
      await redis.hincrby(webhook, 'parkedEvents', -1);
      await writeFormer('k8', { failures: 100, sinceMs: 0 }, [8, 108], 'inf');
      await endpoint.endSession();
      await endpoint.deliver({ owner: ownerOf('process-2') });
      expect([await parkedIds('k7'), await parkedEvents()]).to.deep.equal([[507, 607, 707], '5']);
      refuse(new Set());
      endpoint.nowMs += MINUTE_MS;
      await endpoint.deliverAll({ owner: ownerOf('process-2') });
      expect([...endpoint.told].sort((one, other) => one - other)).to.deep.equal([8, 108, 507, 607, 707]);
      expect([await redis.hlen(keys().parked), await parkedEvents()]).to.deep.equal([0, '0']);
    });

    it('is told when it is replayed, and when more comes of one that was given up for ever', async () => {
      await writeFormer('k7', { failures: 100, sinceMs: 0 }, [7, 107], 'inf');
      await writeFormer('k8', { failures: 100, sinceMs: 0 }, [8, 108], 'inf');
      await endpoint.deliverAll();
      expect(endpoint.told).to.deep.equal([]);
      await replayWebhook(endpoint.space.store, place(), { ids: ['7'] }, endpoint.nowMs);
      await endpoint.deliverAll();
      expect(endpoint.told).to.deep.equal([7, 107]);
      await endpoint.write(508);
      endpoint.nowMs += MINUTE_MS;
      await endpoint.deliverAll();
      await endpoint.deliverAll();
      expect(endpoint.told).to.deep.equal([7, 107, 8, 108, 508]);
    });
  });
});
