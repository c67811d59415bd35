import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { GatewayError } from '@gateway/runtime/errors';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { endSessions } from '@gateway/store/webhooks/delivering/owners';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { rotateSecret } from '@gateway/store/webhooks/webhooks';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 5 }, (_, i) => `49151123${40_000 + i}`);
const HOWS = ['its process dies', 'the connection breaks'] as const;

describe('an answer of an endpoint that was not heard', () => {
  const { space, stage, create, accept, record, ownership, rows } = useLoggedEndpoint();
  /** The endpoint refuses something, and is mended in the moment in which it takes something of which no one hears. */
  let isPicky: boolean;
  let isUnheard: boolean;
  /** Of the process that delivers. */
  let number: number;
  beforeEach(() => {
    [isPicky, isUnheard, number] = [true, false, 1];
  });

  /** Answers what the deliverer hears. */
  function takeUnheard(how: (typeof HOWS)[number], event: (typeof stage.events)[number]): false | 0 {
    [isPicky, isUnheard] = [false, true];
    if (how === 'its process dies') return false;
    stage.events.push(event);
    return 0;
  }

  /** Second by second; the process that took what is unheard dies before it writes that down. */
  async function runFor(
    seconds: number,
    run: Awaited<ReturnType<typeof create>>,
    dies: boolean,
    onUnheard?: () => Promise<void>,
  ) {
    const { store } = space;
    const step = store.run;
    store.run = async (name, ...rest) => {
      if (dies && isUnheard && number === 1 && name === 'settle-delivery') throw new Error('died');
      return step(name, ...rest);
    };
    for (let second = 0; second < seconds; second++) {
      const outcome = await run.as(`process-${number}`).catch(({ message }: Error) => message);
      if (outcome === 'died') await endSessions(store, `process-${number++}`);
      if (isUnheard) {
        await onUnheard?.();
        onUnheard = undefined;
      }
      stage.aheadMs += 1_000;
    }
    store.run = step;
    expect(isUnheard, 'something was not heard').to.equal(true);
  }

  function expectEachUnderOneId() {
    const under = new Map<string, Set<string>>();
    for (const { id, data } of stage.events)
      for (const change of (data.changes ?? []) as { id: string }[])
        under.set(change.id, (under.get(change.id) ?? new Set()).add(id));
    expect([...under].filter(([, ids]) => ids.size > 1)).to.deep.equal([]);
  }

  for (const how of HOWS) {
    it(`comes again under its id, and no other, where it told one recipient of what was refused (${how})`, async () => {
      const run = await create();
      stage.refuses = (event) => {
        if (!isPicky) return false;
        const isRefused = event.type === 'message.received' || JSON.stringify(event).includes(PEOPLE[0]!);
        const isOfOne = (event.data.changes as unknown[] | undefined)?.length === 1;
        return !isRefused && isOfOne ? takeUnheard(how, event) : isRefused;
      };
      const tag = await accept([...PEOPLE, '4915112349999']);
      await record(tag, 'acked', 0, 5);
      const message = { platformId: '3AF1', jid: '491700000041@s.whatsapp.net', text: 'hello' };
      await recordReceived(space.store, ownership, { message, nowMs: Date.now() });
      await runFor(100, run, how === 'its process dies');
      expectEachUnderOneId();
      expect(new Set(rows().flatMap((each) => each.map(({ id }) => id))).size).to.equal(5);
    });

    it(`comes again under its id, and no other, where it was of a request that had been refused, and others are taken since (${how})`, async () => {
      const run = await create();
      const dies = how === 'its process dies';
      const bad = '4915112349999';
      let hasBegun = false;
      let refusals = 0;
      // What is put aside waits for an hour, so that more is put aside behind the request.
      stage.refuses = (event) => {
        const isOfBad = JSON.stringify(event.data).includes(bad);
        if (isOfBad || !isPicky || !hasBegun) return isOfBad && isPicky;
        const isAll = (event.data.changes as unknown[] | undefined)?.length === PEOPLE.length;
        return isAll && refusals++ === 3 ? takeUnheard(how, event) : true;
      };
      const posts = () => stage.posted.filter((event) => JSON.stringify(event.data).includes(bad)).length;
      stage.asksFor = () => (isPicky && posts() > 3 && !hasBegun ? 3_600 : 0);
      await record(await accept([bad]), 'acked', 0, 1);
      for (; posts() < 4; stage.aheadMs += 1_000) await run();
      hasBegun = true;
      const tag = await accept(PEOPLE);
      await record(tag, 'acked', 0, PEOPLE.length);
      await runFor(600, run, dies, async () => {
        const list = Array.from({ length: 11 }, (_, i) => `49151124${50_000 + i}`);
        await record(await accept(list), 'acked', 0, list.length);
        await record(tag, 'delivered', 0, 2);
      });
      stage.aheadMs += 3_600_000;
      await runFor(60, run, false);
      expectEachUnderOneId();
      expect(new Set(rows().flatMap((each) => each.map(({ id }) => id))).size).to.equal(1 + PEOPLE.length + 11 + 2);
    });
  }

  it('comes again under its id where some of what it was a probe for was told, and its endpoint is changed before it is posted again', async () => {
    const run = await create({ types: ['message.sent', 'messages.updated'], concurrency: 2 });
    let isRotated = false;
    stage.refuses = (event) => {
      if (isRotated || event.data.to === PEOPLE[0] || event.data.to === PEOPLE[1]) return false;
      if (!event.data.changes) return 0;
      isUnheard = true;
      stage.events.push(event);
      return 0;
    };
    await record(await accept([...PEOPLE, '4915112349999']), 'acked', 0, PEOPLE.length);
    for (let seconds = 0; !isUnheard && seconds < 600; seconds++, stage.aheadMs += 1_000) await run();
    await rotateSecret(space.store, 'main', run.id, { overlapHours: 24, nowMs: Date.now() });
    isRotated = true;
    for (let seconds = 0; seconds < 1_200; seconds += 5, stage.aheadMs += 5_000) await run();
    expect(isUnheard).to.equal(true);
    expectEachUnderOneId();
    expect(new Set(rows().flatMap((each) => each.map(({ id }) => id))).size).to.equal(PEOPLE.length);
  });

  it('holds up nothing else where that request is refused again', async () => {
    const run = await create();
    let refusals = 0;
    // What is broken is mended for all but one.
    const isOfBad = (event: object) => JSON.stringify(event).includes(PEOPLE[0]!);
    stage.refuses = (event) => {
      if (isUnheard) return isOfBad(event);
      if ((event.data.changes as unknown[] | undefined)?.length === PEOPLE.length && refusals++ === 3) isUnheard = true;
      return isUnheard ? 0 : true;
    };
    await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
    let seconds = 0;
    for (; !isUnheard; stage.aheadMs += 1_000) await run();
    await record(await accept(['4915112349999']), 'acked', 0, 1);
    const told = () => new Set(rows().flatMap((each) => each.map(({ id }) => id)));
    for (; told().size < PEOPLE.length && seconds < 400; seconds++, stage.aheadMs += 1_000) await run();
    expect(seconds).to.be.lessThan(330);
    expect(isOfBad(rows())).to.equal(false);
  });
});

describe('a step of a replay that Redis carries out late', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();

  it('begins no replay that has ended, in the place of the next one', async () => {
    const { store } = space;
    const run = await create({ types: ['message.sent'] });
    await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
    await run();
    const [first, second] = stage.events.map(({ id }) => id);
    const ask = (id: string) => replayWebhook(store, { workspace: 'main', id: run.id }, { ids: [id] }, Date.now());
    const step = store.run;
    let late: (() => Promise<unknown>) | undefined;
    store.run = (name, keys, args) => {
      if (name.endsWith('-delivery') && args[0] === 'replay') late ??= () => step(name, keys, args);
      return step(name, keys, args);
    };
    await ask(first!);
    await run();
    stage.events.length = 0;
    await ask(second!);
    expect(await late!()).to.equal('fenced');
    await run();
    store.run = step;
    expect(stage.events.map(({ id }) => id)).to.deep.equal([second]);
  });
});

describe('an answer of Redis to who delivers that was not heard', () => {
  const endpoint = useEndpoint();

  it('drops nothing of what is put aside that was not told, when that step is carried out late', async () => {
    const { store } = endpoint.space;
    endpoint.keyOf = (number) => (number < 10 ? 'person' : `other${number}`);
    endpoint.isAlone = true;
    const refused = new Set([1, 2, 3]);
    endpoint.answer = () => {
      const [number] = endpoint.received.at(-1)!.numbers;
      if (number === 10) refused.delete(1);
      return refused.has(number!) ? 422 : 204;
    };
    for (const number of [1, 2, 3, 10]) await endpoint.write(number);
    const { run } = store;
    let carryOut: (() => Promise<unknown>) | undefined;
    let late: unknown;
    store.run = async (name, keys, args) => {
      const [lane] = args;
      if (name === 'settle-delivery' && lane === 'parked' && !carryOut) {
        carryOut = () => run(name, keys, args);
        throw new Error('no answer in time');
      }
      const reply = await run(name, keys, args);
      // Of the next one of this person.
      const isNext = endpoint.received.filter(({ numbers: [number] }) => number === 1).length > 1;
      if (name === 'claim-delivery' && lane === 'parked' && isNext) late ??= await carryOut?.();
      return reply;
    };
    for (let i = 0; i < 12; i++) {
      await endpoint.deliverAll().catch(() => {});
      endpoint.nowMs += 5_000;
    }
    refused.clear();
    for (let i = 0; i < 10; i++) {
      await endpoint.deliverAll();
      endpoint.nowMs += 500_000;
    }
    store.run = run;
    expect(late).to.equal('fenced');
    expect([...new Set(endpoint.told)].sort((a, b) => a - b)).to.deep.equal([1, 2, 3, 10]);
  });

  it('drops nothing that was not told either, when that step is carried out twice, and so much is told in between that the first request is not listed any more', async () => {
    const { store } = endpoint.space;
    endpoint.keyOf = (number) => (number < 10 ? 'person' : `other${number}`);
    endpoint.isAlone = true;
    const refused = new Set([1]);
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.some((number) => refused.has(number)) ? 422 : 204);
    for (const number of [1, 2, 3, 10]) await endpoint.write(number);
    for (let i = 0; i < 6; i++, endpoint.nowMs += 5_000) await endpoint.deliverAll();
    expect(endpoint.told).to.deep.equal([10]);
    refused.clear();
    const { run } = store;
    let again: unknown;
    store.run = async (name, keys, args) => {
      const reply = await run(name, keys, args);
      if (name !== 'settle-delivery' || args[0] !== 'parked' || again) return reply;
      const attempt = { webhookId: 'evt_0', atMs: endpoint.nowMs + 1, tookMs: 0, status: 200, error: null, answer: '' };
      for (let i = 0; i < WEBHOOK_LIMITS.keptAttempts; i++)
        await recordAttempt(store, 'main', endpoint.id, { attempt });
      again = await run(name, keys, args);
      return again;
    };
    for (let i = 0; i < 10; i++, endpoint.nowMs += 500_000) await endpoint.deliverAll();
    store.run = run;
    expect(again).to.equal('done');
    expect(endpoint.told).to.deep.equal([10, 1, 2, 3]);
  });

  it('posts nothing that another connection has claimed than the one that replicas are asked about: it may lead to another master', async function () {
    const { store } = endpoint.space;
    // A client of a Cluster does not connect anew to a node that is ended by hand.
    if (isCluster(store.redis)) return this.skip();
    const master = store.redis;
    Object.assign(store, { asksReplicas: true });
    store.confirmWrites = async (_key, since) => {
      if (since?.has(master.stream)) return;
      throw new GatewayError({ code: 'not_confirmed', message: 'the first writes went by another connection' });
    };
    const { run } = store;
    let claims = 0;
    store.run = async (name, ...rest) => {
      const reply = await run(name, ...rest);
      if (name !== 'claim-delivery' || claims++ > 0) return reply;
      const { stream } = master;
      master.disconnect(true);
      await eventually(() => master.status === 'ready' && master.stream !== stream);
      return reply;
    };
    await endpoint.write(1);
    const failed = await endpoint.deliverAll().catch((thrown: GatewayError) => thrown.code);
    expect([failed, endpoint.received.length]).to.deep.equal(['not_confirmed', 0]);
    await endpoint.deliverAll();
    store.run = run;
    expect(endpoint.told).to.deep.equal([1]);
  });
});
