import { eventSchema } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { resealAll } from '@gateway/store/core/sealed-values';
import { createVault } from '@gateway/store/core/vault';
import { boundLog } from '@gateway/store/events/relay-outbox';
import { listWebhooks, resumeWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { readKeyRings } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 1_200 }, (_, i) => `49151123${String(40_000 + i)}`);

describe('the log of a workspace, told to a webhook', () => {
  const { space, stage, relay, create, accept, record, useDevice, rows } = useLoggedEndpoint();

  it('gathers what happens to lists, in requests of 500 changes, for as long as the endpoint wants', async () => {
    const run = await create();
    const tag = await accept(PEOPLE);
    for (let from = 0; from < 1_100; from += 50) await record(tag, 'acked', from, from + 50);
    expect(await run()).to.equal('waiting');
    expect(rows().map((each) => each.length)).to.deep.equal([500, 500]);
    stage.aheadMs = 20_000;
    await run();
    expect(stage.events).to.have.length(2);
    stage.aheadMs = 31_000;
    await run();
    expect(rows().map((each) => each.length)).to.deep.equal([500, 500, 100]);
    const told = rows().flat();
    expect(told.map(({ index }) => index)).to.deep.equal(Array.from({ length: 1_100 }, (_, i) => i));
    for (const event of stage.events) expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
  });

  it('gathers what happens to lists of several devices at the same time together', async () => {
    const run = await create();
    const other = await useDevice('b');
    const lists = [
      { tag: await accept(PEOPLE), of: { record } },
      { tag: await other.accept(PEOPLE), of: other },
    ];
    for (let from = 0; from < 500; from += 10) {
      for (const { tag, of } of lists) await of.record(tag, 'acked', from, from + 10);
      if (from % 100 === 0) await run();
    }
    stage.aheadMs = 31_000;
    await run();
    expect(rows().map((each) => each.length)).to.deep.equal([500, 500]);
    for (const event of stage.events) {
      expect(event.device).to.equal(null);
      expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
    }
    for (const device of ['a', 'b']) {
      const told = rows()
        .flat()
        .filter((row) => row.device === device);
      expect(told.map(({ index }) => index)).to.deep.equal(Array.from({ length: 500 }, (_, i) => i));
    }
  });

  it('looks at each entry once while it gathers, and tells all of it when it is time', async () => {
    const run = await create();
    const tag = await accept(PEOPLE);
    const { redis } = space.store;
    const { eventLog } = workspaceKeys(space, 'main');
    const read = redis.xrangeBuffer.bind(redis) as (...args: unknown[]) => Promise<unknown>;
    const asked: unknown[] = [];
    const note = (key: unknown, from: unknown, ...rest: unknown[]) => {
      if (key === eventLog) asked.push(from);
      return read(key, from, ...rest);
    };
    Object.assign(redis, { xrangeBuffer: note });
    await record(tag, 'acked', 0, 20);
    await run();
    for (let from = 20; from < 60; from += 20) {
      const [[last] = ['0-0']] = await redis.xrevrange(eventLog, '+', '-', 'COUNT', 1);
      asked.length = 0;
      await record(tag, 'acked', from, from + 20);
      await run();
      expect([...new Set(asked)], `${from}, of each lane`).to.deep.equal([`(${last}`]);
    }
    expect(stage.events).to.have.length(0);
    stage.aheadMs = 31_000;
    await run();
    expect(rows().map((each) => each.map(({ index }) => index))).to.deep.equal([
      Array.from({ length: 60 }, (_, i) => i),
    ]);
    // What comes then is counted anew.
    await record(tag, 'acked', 60, 500);
    await run();
    expect(rows()).to.have.length(1);
    await record(tag, 'acked', 500, 560);
    await run();
    expect(rows().map((each) => each.length)).to.deep.equal([60, 500]);
  });

  it('tells the end of a list and what came before it without waiting', async () => {
    const run = await create();
    const tag = await accept(PEOPLE.slice(0, 20));
    await record(tag, 'acked', 0, 20);
    expect(await run()).to.equal('waiting');
    expect(stage.events.map(({ type }) => type)).to.deep.equal(['messages.updated', 'send.finished']);
  });

  it('tells one-time passwords and opt-outs at once, beside a list that is gathered', async () => {
    const run = await create();
    const tag = await accept(PEOPLE);
    await record(tag, 'acked', 0, 50);
    const otp = await accept(PEOPLE.slice(0, 1), 'otp');
    await record(otp, 'acked', 0, 1);
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    await run();
    expect(stage.events.map(({ type }) => type)).to.include.members(['otp.sent', 'optout.added']);
    expect(rows()).to.deep.equal([]);
  });

  it('tells one-time passwords at once also while it waits for the answer to a list', async () => {
    const run = await create();
    const list = await accept(PEOPLE);
    await record(list, 'acked', 0, 500);
    const otp = await accept(PEOPLE.slice(0, 1), 'otp');
    stage.take = async ({ type }) => {
      if (type === 'messages.updated') {
        await record(otp, 'acked', 0, 1);
        await relay();
        await eventually(() => stage.events.some((event) => event.type === 'otp.sent'));
      }
    };
    await run();
    expect(stage.events.map(({ type }) => type)).to.include.members(['otp.sent', 'messages.updated']);
  });

  it('goes on after an outage where it was, and tells each change once', async () => {
    const run = await create({ gatherSeconds: 1 });
    const tag = await accept(PEOPLE.slice(0, 100));
    await record(tag, 'acked', 0, 60);
    stage.status = 500;
    stage.aheadMs = 2_000;
    expect(await run()).to.equal('waiting');
    await record(tag, 'read', 0, 60);
    stage.status = 200;
    stage.aheadMs = 20_000;
    await run();
    const told = rows().flat();
    expect(told).to.have.length(120);
    expect(new Set(told.map(({ id }) => id)).size).to.equal(120);
    expect(told.slice(60).every((row) => row.status === 'read')).to.equal(true);
  });

  it('tells other endpoints of one that is disabled, and not itself', async () => {
    const gone = await create({ description: 'gone' });
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    stage.status = 410;
    await gone();
    const [{ id } = { id: '' }] = await listWebhooks(space.store, 'main');
    const other = await create();
    await resumeWebhook(space.store, 'main', id);
    stage.status = 200;
    await addOptOuts(space.store, 'main', { numbers: ['447700900002'], source: 'api', atMs: Date.now() });
    await gone();
    expect(stage.events.map(({ type }) => type)).to.deep.equal(['optout.added', 'optout.added']);
    stage.status = 410;
    await addOptOuts(space.store, 'main', { numbers: ['447700900003'], source: 'api', atMs: Date.now() });
    await gone();
    stage.status = 200;
    stage.events = [];
    await other();
    const told = stage.events.find(({ type }) => type === 'webhook.disabled');
    expect(told?.data).to.include({ webhookId: id, lastStatus: 410 });
  });

  it('stays disabled by a 410 though another request that was under way is taken after it, and gets no more', async () => {
    const run = await create({ gatherSeconds: 1 });
    const status = () => space.store.redis.hget(workspaceKeys(space, 'main').webhook(run.id), 'status');
    const optOut = (phone: string) =>
      addOptOuts(space.store, 'main', { numbers: [phone], source: 'api', atMs: Date.now() });
    stage.take = async ({ type }) => {
      stage.status = 410;
      if (type !== 'optout.added') return;
      await eventually(async () => (await status()) === 'disabled');
      await optOut('447700900005');
      stage.status = 204;
    };
    await record(await accept(PEOPLE.slice(0, 20)), 'acked', 0, 20);
    await optOut('447700900004');
    stage.aheadMs += 2_000;
    await run();
    expect(stage.posted.map(({ type }) => type)).to.deep.equal(['messages.updated', 'optout.added']);
    expect([stage.events.length, await status()]).to.deep.equal([1, 'disabled']);
  });

  it('tells of a gap where the log has left the endpoint behind, and goes on after it', async () => {
    const run = await create();
    const optOut = (phone: string) =>
      addOptOuts(space.store, 'main', { numbers: [phone], source: 'api', atMs: Date.now() });
    for (const phone of ['447700900001', '447700900002']) await optOut(phone);
    await boundLog(space.store, 'main', 1);
    await run();
    const gaps = stage.events.filter(({ type }) => type === 'events.gap');
    expect(gaps.map(({ data }) => data.missing)).to.deep.equal([null, null]);
    for (const event of stage.events) expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
    expect(new Set(gaps.map(({ id }) => id)).size, 'one of each lane').to.equal(2);
    expect(stage.events.flatMap(({ data }) => data.phones ?? [])).to.deep.equal(['447700900002']);
    await optOut('447700900003');
    await run();
    expect(stage.events).to.have.length(4);
  });

  it('tells of such a gap whatever types the endpoint asks for, and counts it once for the endpoint', async () => {
    const run = await create({ types: ['send.finished'] });
    for (const phone of ['447700900001', '447700900002']) {
      await addOptOuts(space.store, 'main', { numbers: [phone], source: 'api', atMs: Date.now() });
    }
    await boundLog(space.store, 'main', 1);
    await run();
    await run();
    expect(stage.events.map(({ type, data }) => [type, data.missing])).to.deep.equal([
      ['events.gap', null],
      ['events.gap', null],
    ]);
    expect(stage.gaps, 'of both lanes').to.deep.equal(['log_gone']);
  });

  it('puts aside what is refused, and all that follows for that person, until it is taken', async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated', 'send.finished', 'optout.added'] });
    const tag = await accept(PEOPLE.slice(0, 40));
    const another = await accept(PEOPLE.slice(10, 30));
    stage.refuses = ({ data }) => JSON.stringify(data).includes(PEOPLE[17]!);
    for (let from = 0; from < 40; from += 20) await record(tag, 'acked', from, from + 20);
    const wait = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 5) {
        stage.aheadMs += 5_000;
        await run();
      }
    };
    await wait(30);
    await record(tag, 'read', 0, 40);
    await record(another, 'acked', 0, 20);
    await wait(60);
    const told = () => rows().flat();
    const of = (person: string) => told().flatMap(({ to, kind, status }) => (to === person ? `${kind} ${status}` : []));
    expect(told()).to.have.length(97);
    expect(of(PEOPLE[17]!)).to.deep.equal([]);
    expect(of(PEOPLE[18]!)).to.deep.equal(['text sent', 'text read', 'text sent']);
    expect(JSON.stringify(stage.events)).to.include('send.finished');
    stage.refuses = () => false;
    await wait(600);
    expect(told()).to.have.length(100);
    expect(of(PEOPLE[17]!)).to.deep.equal(['text sent', 'text read', 'text sent']);
    expect(new Set(told().map(({ id }) => id)).size).to.equal(100);
    const bodies = new Map(stage.posted.map((event) => [event.id, JSON.stringify(event)]));
    for (const event of stage.posted) {
      expect(JSON.stringify(event)).to.equal(bodies.get(event.id));
      expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
    }
    const { redis } = space.store;
    for (const key of await redis.keys(`${space.prefix}:*webhook*`)) {
      const dump = (await redis.type(key)) === 'hash' ? JSON.stringify(await redis.hgetall(key)) : key;
      expect(dump, key).not.to.include(PEOPLE[17]);
    }
  });

  it('tells lists also while what cannot wait has no answer and nothing behind it, and the endpoint goes on', async () => {
    const run = await create({ gatherSeconds: 1 });
    stage.refuses = ({ type }) => (type === 'optout.added' ? 0 : false);
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    const wait = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 5) {
        stage.aheadMs += 5_000;
        await run();
      }
    };
    await wait(30);
    await record(await accept(PEOPLE.slice(0, 20)), 'acked', 0, 20);
    await wait(600);
    expect(rows().flat()).to.have.length(20);
    expect(await space.store.redis.hget(workspaceKeys(space, 'main').webhook(run.id), 'status')).to.equal('active');
    stage.refuses = () => false;
    stage.aheadMs += 1_200_000;
    await run();
    expect(stage.events.map(({ type }) => type)).to.include('optout.added');
  });

  it('halves what is too large for an endpoint also where it is one entry of the log, and nothing may pass it', async () => {
    const run = await create({ gatherSeconds: 1, order: 'strict' });
    await record(await accept(PEOPLE.slice(0, 1_000)), 'acked', 0, 1_000);
    await relay();
    expect(await space.store.redis.xlen(workspaceKeys(space, 'main').eventLog)).to.equal(1);
    await record(await accept(PEOPLE.slice(1_000, 1_020)), 'acked', 0, 20);
    stage.refuses = (event) => (JSON.stringify(event).length > 100_000 ? 413 : false);
    stage.aheadMs += 2_000;
    await run();
    const told = rows().flat();
    expect(told.map(({ to }) => PEOPLE.indexOf(to!))).to.deep.equal([...PEOPLE.slice(0, 1_020).keys()]);
    expect(new Set(told.map(({ id }) => id)).size).to.equal(1_020);
    expect(stage.posted.length - stage.events.length, 'refused').to.be.within(1, 4);
    for (const event of stage.events) expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
  });

  it('knows for whom something is put aside also when the encryption key is another by then', async () => {
    const run = await create({ types: ['message.sent', 'message.delivered'] });
    const tag = await accept(PEOPLE.slice(0, 3));
    stage.refuses = ({ data }) => data.index === 1;
    await record(tag, 'acked', 0, 3);
    for (let second = 0; second < 60; second += 5) {
      await run();
      stage.aheadMs += 5_000;
    }
    const before = space.store.vault;
    const { credentials, contents } = readKeyRings(space.keySettings);
    const next = { id: 'next', key: Buffer.alloc(32, 9) };
    space.store.vault = createVault({ credentials, contents: [next, ...contents] });
    await resealAll(space.store, { onProgress: () => {} });
    space.store.vault = createVault({ credentials, contents: [next] });
    stage.refuses = () => false;
    await record(tag, 'delivered', 0, 3);
    await run();
    const of = (index: number) => stage.events.filter(({ data }) => data.index === index).map(({ type }) => type);
    expect(of(0)).to.deep.equal(['message.sent', 'message.delivered']);
    expect(of(1)).to.deep.equal([]);
    stage.aheadMs += 1_200_000;
    await run();
    expect(of(1)).to.deep.equal(['message.sent', 'message.delivered']);
    space.store.vault = before;
  });

  it('tells several recipients at a time what has a request of its own, and each in order', async () => {
    const run = await create({ types: ['message.sent', 'message.delivered', 'message.read'], concurrency: 8 });
    const tag = await accept(PEOPLE.slice(0, 30));
    for (const event of ['acked', 'delivered', 'read'] as const) await record(tag, event, 0, 30);
    let open = 0;
    let most = 0;
    let seen = 0;
    let release = () => {};
    const eight = new Promise<void>((resolve) => {
      release = resolve;
    });
    // The first is not answered before eight are there.
    stage.take = async () => {
      most = Math.max(most, ++open);
      if (++seen === 8) release();
      await eight;
      open--;
    };
    const of = (index: number) => stage.events.filter(({ data }) => data.index === index).map(({ type }) => type);
    stage.refuses = ({ data, type }) => data.index === 7 && type === 'message.delivered';
    for (let second = 0; second < 60; second += 5) {
      await run();
      stage.aheadMs += 5_000;
    }
    expect(most, 'and one of what is put aside').to.be.within(8, 9);
    // What came before a failure may come again with it.
    expect([...new Set(of(7))]).to.deep.equal(['message.sent']);
    stage.refuses = () => false;
    stage.aheadMs += 1_200_000;
    await run();
    for (let index = 0; index < 30; index++) {
      expect([...new Set(of(index))]).to.deep.equal(['message.sent', 'message.delivered', 'message.read']);
    }
    const bodies = new Map(stage.posted.map((event) => [event.id, JSON.stringify(event)]));
    for (const event of stage.posted) expect(JSON.stringify(event)).to.equal(bodies.get(event.id));
  });

  it('makes one request at a time while they fail, whatever waits, and though several recipients are told at a time', async () => {
    const several = await create({ types: ['message.sent'], concurrency: 8 });
    const lanes = await create({ types: ['messages.updated', 'otp.sent'] });
    await record(await accept(PEOPLE.slice(0, 30)), 'acked', 0, 30);
    await record(await accept(PEOPLE.slice(0, 1), 'otp'), 'acked', 0, 1);
    stage.aheadMs += 60_000;
    stage.status = 500;
    const requestsOf = async (run: () => Promise<string>) => {
      const before = stage.posted.length;
      await run();
      return stage.posted.length - before;
    };
    expect([await requestsOf(several), await requestsOf(lanes)], 'before it is known').to.deep.equal([8, 2]);
    stage.aheadMs += 20_000;
    expect([await requestsOf(several), await requestsOf(lanes)]).to.deep.equal([1, 1]);
    stage.status = 200;
    stage.aheadMs += 120_000;
    await several();
    await lanes();
    expect(new Set(stage.events.map(({ id }) => id)).size).to.equal(30 + 2);
  });
});
