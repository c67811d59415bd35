import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { claimDelivery, type TakenWebhook, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { readParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { useEndpoint } from './support/use-endpoint.js';

const HOUR_MS = 3_600_000;
const OWNER = ownerOf('process-1');

describe('what is put aside for an endpoint while there is no room left', () => {
  const endpoint = useEndpoint();
  const place = () => ({ workspace: 'main', id: endpoint.id });
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
  const posted = () => endpoint.received.map(({ body }) => JSON.parse(body));
  const left = async () => {
    const { webhook } = workspaceKeys(endpoint.space.store.space, 'main');
    return Number(await endpoint.space.store.redis.hget(webhook(endpoint.id), 'parkedEvents'));
  };
  const idsOf = async (key: string) => {
    const [found] = await readParked(endpoint.space.store, place(), [key]);
    return found?.events.map(({ id }) => id);
  };
  let taken: TakenWebhook;
  let entry: string;
  let steps: number;

  const park = async (events: readonly { key: string; id: string; device?: string }[], nowMs: number) => {
    const changes = events.map(({ key, ...event }) => {
      return { what: 'add', key, event: { entry, type: 'number', ...event } } as const;
    });
    const write = { lane: 'prompt', state: { cursor: entry, most: ++steps }, changes, nowMs } as const;
    expect(await claimDelivery(endpoint.space.store, taken, write)).to.equal(true);
  };
  const others = (count: number, name: string) =>
    numbers(count).map((n) => ({ key: `${name}${n}`, id: `${name}${n}` }));

  /** Of `someone` there are three events, the oldest, of which two are posted together; all others come later. */
  beforeEach(async () => {
    await endpoint.write(1, 2, 3, 4);
    const [[first] = []] = await endpoint.space.store.redis.xrange(`${endpoint.space.prefix}:log`, '-', '+');
    const found = await takeWebhook(endpoint.space.store, place(), OWNER);
    if (typeof found === 'string') throw new Error(found);
    [taken, entry, steps] = [found, String(first), 0];
    const two = ['1', '2'].map((id) => ({ key: 'someone', id, device: 'd' }));
    await park([...two, { key: 'someone', id: '3' }], endpoint.nowMs);
    await park(others(WEBHOOK_LIMITS.maxParked - 3, 'later'), laterMs());
  });

  /** While the first request is answered. */
  const meanwhile = (work: () => Promise<unknown>) => {
    endpoint.answer = (request, res) => {
      if (request > 0) return 204;
      void work().then(() => res.writeHead(204).end());
      return undefined;
    };
  };
  const laterMs = () => endpoint.nowMs + HOUR_MS;

  it('is lost only if it is not posted at that moment, and all that is lost is told', async () => {
    meanwhile(async () => {
      await park(others(4, 'new'), laterMs());
      await park([{ key: 'someone', id: '4', device: 'd' }], laterMs());
    });
    await endpoint.deliverAll();
    // Of the oldest recipient what is behind that, and then of the next ones.
    expect(posted()).to.deep.equal([{ numbers: [1, 2] }, { lost: 5, atMs: endpoint.nowMs }]);
    for (const gone of ['someone', 'later0', 'later1', 'later10']) expect(await idsOf(gone), gone).to.equal(undefined);
    expect([await idsOf('later100'), await idsOf('new0')]).to.deep.equal([['later100'], ['new0']]);
    expect(await left()).to.equal(WEBHOOK_LIMITS.maxParked - 2);
  });

  it('is told in requests of the same kind, also if some of it went before one was made', async () => {
    const { store } = endpoint.space;
    let isFull = false;
    const run: RunScript = async (name, keys, args) => {
      if (name === 'claim-delivery' && args.includes('parked') && !isFull) {
        isFull = true;
        await park(others(1, 'new'), laterMs());
      }
      return store.run(name, keys, args);
    };
    await endpoint.deliver({ store: { ...store, run } });
    await endpoint.deliverAll();
    expect(posted()).to.deep.equal([{ numbers: [2] }, { lost: 1, atMs: endpoint.nowMs }, { numbers: [3] }]);
  });

  it('is never more than fits, also for the one to whom something is posted', async () => {
    const numbered = numbers(600).map((n) => ({ key: 'someone', id: `more${n}` }));
    meanwhile(() => park(numbered, laterMs()));
    await endpoint.deliver();
    expect([await left(), await idsOf('someone')]).to.deep.equal([
      WEBHOOK_LIMITS.maxParked - 2,
      numbered.slice(-1).map(({ id }) => id),
    ]);
    await endpoint.deliver();
    expect(posted()).to.deep.equal([{ numbers: [1, 2] }, { lost: 600, atMs: endpoint.nowMs }]);
  });

  it('is posted again as it was, when the process died before the answer was written down', async () => {
    meanwhile(() => park(others(3, 'new'), laterMs()));
    const { store } = endpoint.space;
    const run: RunScript = async (name, keys, args) => {
      if (name === 'settle-delivery') throw new Error('killed');
      return store.run(name, keys, args);
    };
    const outcome = await endpoint.deliver({ store: { ...store, run } }).catch((error: Error) => error.message);
    expect(outcome).to.equal('killed');
    await endpoint.endSession();
    expect(await idsOf('someone')).to.deep.equal(['1', '2']);
    await endpoint.deliverAll({ owner: ownerOf('process-2') });
    const [first, again, gap, ...rest] = posted();
    expect([first, again, rest]).to.deep.equal([{ numbers: [1, 2] }, { numbers: [1, 2] }, []]);
    expect(gap).to.include({ lost: 3 });
    expect(await left()).to.equal(WEBHOOK_LIMITS.maxParked - 2);
  });

  it('does not take what is put aside for someone anew for what went', async () => {
    const { store } = endpoint.space;
    let claims = 0;
    const run: RunScript = async (name, keys, args) => {
      if (name === 'claim-delivery' && args.includes('parked')) {
        claims++;
        if (claims === 1) await park(others(3, 'new'), laterMs());
        if (claims === 2) await park([{ key: 'someone', id: '4', device: 'd' }], laterMs());
      }
      return store.run(name, keys, args);
    };
    await endpoint.deliver({ store: { ...store, run } });
    expect([claims, posted(), await idsOf('someone')]).to.deep.equal([2, [], ['4']]);
  });

  it('leaves what comes behind the oldest to be told, though that one was no longer tried', async () => {
    const clock = { failures: 100, sinceMs: 0 };
    const changes = [{ what: 'wait', key: 'someone', clock }] as const;
    const write = { lane: 'prompt', state: { cursor: entry, most: ++steps }, changes, nowMs: laterMs() } as const;
    expect(await claimDelivery(endpoint.space.store, taken, write)).to.equal(true);
    expect(await endpoint.deliver()).to.equal('waiting');
    await park(others(1, 'new'), ++endpoint.nowMs);
    await endpoint.deliverAll();
    expect(posted()).to.deep.include.members([{ numbers: [2] }, { numbers: [3] }]);
  });

  it('is no reason for pauses once the endpoint has taken how many were lost', async () => {
    const webhook = workspaceKeys(endpoint.space.store.space, 'main').webhook(endpoint.id);
    const before = { refusals: 20, notBeforeMs: endpoint.nowMs, most: 8 };
    await endpoint.space.store.redis.hset(webhook, { 'lane:parked': JSON.stringify(before), parkedLost: 1 });
    await endpoint.deliver();
    expect(posted()).to.deep.equal([{ lost: 1, atMs: endpoint.nowMs }]);
    const { write: _, ...after } = JSON.parse((await endpoint.space.store.redis.hget(webhook, 'lane:parked'))!);
    expect(after).to.deep.equal({ most: 8 });
  });
});
