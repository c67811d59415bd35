import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { forgetInLog } from '@gateway/store/events/forgetting/forget-in-log';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { forgetRecipient } from '@gateway/store/sends/change-send';
import { forgetInAttempts, listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { forgetPerson } from '@gateway/store/workspace/people';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${String(40_000 + i)}`);
const FORGOTTEN = PEOPLE[7]!;

describe('a person who is forgotten', () => {
  const { space, address, ownership, stage, create, accept, record, rows } = useLoggedEndpoint();
  const wait = async (run: () => Promise<string>, seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      stage.aheadMs += 5_000;
      await run();
    }
  };

  it('is told of once where what concerned them waits behind what is put aside, and the rest is under way', async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated'] });
    const first = await accept(PEOPLE);
    stage.refuses = ({ data }) => JSON.stringify(data).includes(FORGOTTEN);
    await record(first, 'acked', 0, 20);
    await wait(run, 60);
    const second = await accept(PEOPLE);
    await record(second, 'acked', 0, 20);
    stage.status = 500;
    await wait(run, 5);
    const before = rows().flat().length;
    for (const tag of [first, second]) {
      expect(await forgetRecipient(space.store, address, tag, FORGOTTEN)).to.equal(1);
    }
    stage.status = 200;
    await wait(run, 1_200);
    const told = rows().flat();
    expect(before).to.equal(19);
    expect(told).to.have.length(40);
    expect(new Set(told.map(({ id }) => id)).size).to.equal(40);
    expect(told.filter(({ to }) => to === null)).to.have.length(2);
  });

  for (const types of [['messages.updated'], ['message.sent', 'message.delivered']]) {
    it(`is told of in order where what came before is put aside: ${types.join()}`, async () => {
      const run = await create({ gatherSeconds: 1, types });
      const tag = await accept(PEOPLE);
      const toldOf = ({ data }: GatewayEvent) =>
        ((data.changes ?? [data]) as ChangeData[]).filter(({ index }) => index === 7).map(({ status }) => status);
      stage.refuses = (event) => toldOf(event).includes('sent');
      await record(tag, 'acked', 0, 20);
      await wait(run, 120);
      await record(tag, 'delivered', 0, 20);
      expect(await forgetRecipient(space.store, address, tag, FORGOTTEN)).to.equal(1);
      await wait(run, 30);
      expect(stage.events.flatMap(toldOf)).to.deep.equal([]);
      stage.refuses = () => false;
      await wait(run, 1_200);
      expect(stage.events.flatMap(toldOf)).to.deep.equal(['sent', 'delivered']);
    });
  }

  it('leaves a gap where they opted out with others, which is counted as wanted', async () => {
    const [asks, doesNot] = [await create(), await create({ types: ['message.received'] })];
    const optOut = (...numbers: string[]) =>
      addOptOuts(space.store, 'main', { numbers, source: 'api', atMs: Date.now() });
    const [told, missed] = ['447700900001', '447700900002'] as const;
    await optOut(told, '447700900003');
    await asks();
    await optOut(missed, '447700900004');
    expect(await forgetInLog(space.store, 'main', new Set([told, missed]))).to.equal(2);
    for (const run of [asks, doesNot]) await run();
    expect(stage.events.map(({ type, data }) => [type, data.missing])).to.deep.equal([
      ['optout.added', undefined],
      ['events.gap', 1],
    ]);
    expect(stage.gaps).to.deep.equal(['erased']);
  });

  it('is a gap that comes again as it was where it was refused', async () => {
    const run = await create();
    await addOptOuts(space.store, 'main', { numbers: PEOPLE, source: 'api', atMs: Date.now() });
    expect(await forgetInLog(space.store, 'main', new Set([FORGOTTEN]))).to.equal(1);
    await addOptOuts(space.store, 'main', { numbers: ['447700900002'], source: 'api', atMs: Date.now() });
    stage.refuses = ({ type }) => type === 'events.gap';
    await wait(run, 60);
    stage.refuses = () => false;
    await wait(run, 600);
    expect(stage.events.map(({ type }) => type)).to.deep.equal(['optout.added', 'events.gap']);
    expect(
      new Set(stage.posted.filter(({ type }) => type === 'events.gap').map((gap) => JSON.stringify(gap))).size,
    ).to.equal(1);
  });

  it('is told of once where several are told at a time, and others were not taken', async () => {
    const run = await create({ types: ['message.sent'], concurrency: 4 });
    const tag = await accept(PEOPLE);
    stage.refuses = ({ data }) => data.index === 12;
    await record(tag, 'acked', 0, 20);
    await run();
    expect(stage.events.map(({ data }) => data.to)).to.include(FORGOTTEN);
    expect(await forgetRecipient(space.store, address, tag, FORGOTTEN)).to.equal(1);
    stage.refuses = () => false;
    await wait(run, 60);
    expect(stage.events.map(({ data }) => data.index).sort((one, other) => Number(one) - Number(other))).to.deep.equal([
      ...PEOPLE.keys(),
    ]);
  });

  it('leaves no gap where their opt-out was told a moment ago, and others of the same claim were not taken', async () => {
    const run = await create({ types: ['message.sent', 'optout.added'], concurrency: 4 });
    const tag = await accept(PEOPLE.slice(0, 3));
    await addOptOuts(space.store, 'main', { numbers: PEOPLE, source: 'api', atMs: Date.now() });
    stage.refuses = ({ data }) => data.index === 2;
    await record(tag, 'acked', 0, 3);
    await run();
    expect(stage.events.map(({ type }) => type)).to.include('optout.added');
    expect(await forgetInLog(space.store, 'main', new Set([FORGOTTEN]))).to.equal(1);
    stage.refuses = () => false;
    await wait(run, 60);
    expect(stage.events.filter(({ type }) => type === 'events.gap')).to.deep.equal([]);
    expect(stage.gaps).to.deep.equal([]);
  });

  for (const concurrency of [1, 2, 20]) {
    it(`is not named in what is begun afterwards, nor in answers to what was under way, where ${concurrency} requests may be`, async () => {
      const { store } = space;
      const run = await create({ types: ['message.received'], concurrency });
      const phone = '491700000041';
      const write = (number: number) =>
        recordReceived(store, ownership, {
          message: { platformId: `3AA${number}`, jid: `${phone}@s.whatsapp.net`, phone, text: `secret ${number}` },
          nowMs: Date.now(),
        });
      for (let number = 0; number < 10; number++) await write(number);
      const before: string[] = [];
      const after: string[] = [];
      let isForgotten = false;
      stage.take = async (event) => {
        (isForgotten ? after : before).push(JSON.stringify(event));
        if (before.length < 3 || isForgotten) return;
        expect(await forgetPerson(store, address, phone)).to.include({ received: 10 });
        await forgetInAttempts(store, 'main', new Set([phone]));
        isForgotten = true;
      };
      const told = () => new Set(stage.events.map(({ id }) => id));
      while (told().size < 10) await run();
      expect(before).to.have.length(3);
      expect(after.filter((body) => body.includes('secret') || body.includes(phone))).to.deep.equal([]);
      const idOf = (body: string) => (JSON.parse(body) as GatewayEvent).id;
      const underWay = idOf(before[2]!);
      const listed = (await listAttempts(store, 'main', run.id, 200)).filter(({ webhookId }) => webhookId === underWay);
      expect(listed).to.have.length(after.filter((body) => idOf(body) === underWay).length);
    });
  }

  it('does not keep an endpoint failing that took something in that moment', async () => {
    const { redis, space: keySpace } = space.store;
    const run = await create({ types: ['message.sent'] });
    stage.status = 500;
    await record(await accept([PEOPLE[0]!]), 'acked', 0, 1);
    await run();
    const webhook = workspaceKeys(keySpace, 'main').webhook(run.id);
    expect(await redis.hget(webhook, 'status')).to.equal('failing');
    stage.status = 200;
    stage.take = async () => void (await forgetInAttempts(space.store, 'main', new Set([FORGOTTEN])));
    await wait(run, 10);
    expect(stage.events).to.have.length(1);
    expect(await redis.hmget(webhook, 'status', 'breaker')).to.deep.equal(['active', '{}']);
  });

  it('is not named in what waited for replicas meanwhile', async () => {
    const run = await create({ types: ['message.received'] });
    const [phone, jid] = ['491700000041', '491700000041@s.whatsapp.net'];
    const message = { platformId: '3AA1', jid, phone, text: 'secret' };
    await recordReceived(space.store, ownership, { message, nowMs: Date.now() });
    const webhook = workspaceKeys(space.store.space, 'main').webhook(run.id);
    const waiting: typeof space.store = Object.assign(space.store, {
      asksReplicas: true,
      confirmWrites: async (key: string) => {
        if (key !== webhook) return;
        Object.assign(waiting, { confirmWrites: async () => {} });
        await forgetPerson(space.store, address, phone);
        await forgetInAttempts(space.store, 'main', new Set([phone]));
      },
    });
    while (stage.events.length === 0) await run();
    Object.assign(waiting, { asksReplicas: false });
    expect(JSON.stringify(stage.posted)).not.to.match(/secret|491700000041/);
  });
});
