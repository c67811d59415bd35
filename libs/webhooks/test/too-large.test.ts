import type { ChangeData } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { changeWebhook, pauseWebhook } from '@gateway/store/webhooks/webhooks';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 60 }, (_, i) => `49151123${String(40_000 + i)}`);
const MOST = 12;
const BOTH = ['message.sent', 'messages.updated'];

describe('an endpoint that takes small requests only', () => {
  const { space, stage, create, accept, record, rows } = useLoggedEndpoint();

  const isTooLarge = (data: Record<string, unknown>) => ((data.changes as ChangeData[]) ?? []).length > MOST;
  const alone = () => stage.events.flatMap(({ type, data }) => (type === 'message.sent' ? [data.index] : []));
  const together = () =>
    rows()
      .flat()
      .map(({ to }) => PEOPLE.indexOf(to!));
  const wait = async (run: () => Promise<string>, seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      stage.aheadMs += 5_000;
      await run();
    }
  };

  for (const order of ['strict', 'recipient'] as const) {
    it(`is told each change once alone and once together where one step has changed many: ${order}`, async () => {
      const run = await create({ gatherSeconds: 1, order, types: BOTH });
      await record(await accept(PEOPLE.slice(0, 50)), 'acked', 0, 50);
      await record(await accept(PEOPLE.slice(40)), 'acked', 10, 20);
      stage.refuses = ({ data }) => (isTooLarge(data) ? 413 : false);
      stage.aheadMs += 2_000;
      await run();
      expect(together()).to.deep.equal([...PEOPLE.keys()]);
      expect(alone()).to.deep.equal([...Array(50).keys(), ...Array.from({ length: 10 }, (_, i) => 10 + i)]);
      const bodies = new Map(stage.posted.map((event) => [event.id, JSON.stringify(event)]));
      for (const event of stage.posted) expect(JSON.stringify(event)).to.equal(bodies.get(event.id));
    });
  }

  it('is told the same part once more when that is replayed, also where it was not the first', async () => {
    const run = await create({ gatherSeconds: 1, order: 'strict', types: BOTH });
    await record(await accept(PEOPLE.slice(0, 50)), 'acked', 0, 50);
    stage.refuses = ({ data }) => (isTooLarge(data) ? 413 : false);
    stage.aheadMs += 2_000;
    await run();
    const parts = stage.events.filter(({ type }) => type === 'messages.updated');
    expect(parts.length).to.be.above(3);
    for (const part of [parts[0]!, parts[2]!, parts.at(-1)!]) {
      stage.posted = [];
      await replayWebhook(space.store, { workspace: 'main', id: run.id }, { ids: [part.id] }, Date.now());
      await run();
      expect(stage.posted).to.deep.equal([part]);
    }
  });

  it('is told what may have been taken as it was, though what was tried in its place was too large', async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated'] });
    const isAboutFirst = (data: Record<string, unknown>) => JSON.stringify(data).includes(PEOPLE[0]!);
    stage.refuses = ({ data }) => (isAboutFirst(data) ? 0 : isTooLarge(data) ? 413 : false);
    await record(await accept(PEOPLE.slice(0, 20)), 'acked', 0, 20);
    stage.aheadMs += 2_000;
    await run();
    await record(await accept(PEOPLE.slice(20)), 'acked', 0, 40);
    await wait(run, 1_800);
    const ofFirst = stage.posted.filter(({ data }) => isAboutFirst(data));
    expect(ofFirst.length).to.be.above(4);
    expect(new Set(ofFirst.map(({ id }) => id)).size).to.equal(1);
    expect(together().sort((one, other) => one - other)).to.deep.equal([...PEOPLE.keys()].slice(20));
  });

  it('is told the others in small requests where one of them is refused, and that one when it is taken', async () => {
    const run = await create({ gatherSeconds: 1, types: BOTH });
    await record(await accept(PEOPLE.slice(0, 50)), 'acked', 0, 50);
    const isBad = (data: Record<string, unknown>) => JSON.stringify(data.changes ?? '').includes(PEOPLE[17]!);
    stage.refuses = ({ data }) => (isTooLarge(data) ? 413 : isBad(data));
    stage.aheadMs += 2_000;
    await wait(run, 600);
    expect(together().sort((one, other) => one - other)).to.deep.equal([...Array(50).keys()].filter((i) => i !== 17));
    stage.refuses = ({ data }) => (isTooLarge(data) ? 413 : false);
    stage.aheadMs += 1_200_000;
    await run();
    expect(together()).to.have.length(50).and.include(17);
  });

  it('is told all in order also when nothing may pass any more what is too large, and something is still put aside', async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated'] });
    const tag = await accept(PEOPLE);
    stage.refuses = ({ data }) => JSON.stringify(data).includes(PEOPLE[17]!);
    await record(tag, 'acked', 0, 50);
    await wait(run, 120);
    expect(together()).to.have.length(49);
    await changeWebhook(space.store, 'main', run.id, { settings: { order: 'strict' } });
    stage.refuses = ({ data }) => (isTooLarge(data) ? 413 : JSON.stringify(data).includes(PEOPLE[17]!));
    stage.events = [];
    await record(tag, 'delivered', 0, 25);
    await record(tag, 'delivered', 25, 50);
    await record(tag, 'read', 0, 50);
    await wait(run, 60);
    const of = (index: number) =>
      rows()
        .flat()
        .flatMap((row) => (row.index === index ? row.status : []));
    for (let index = 0; index < 50; index++) {
      expect(of(index), `${index}`).to.deep.equal(index === 17 ? [] : ['delivered', 'read']);
    }
  });

  it('is asked for more than it takes ever more seldom, and has large requests again when it takes them', async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated'] });
    const write = async () => record(await accept(numbers), 'acked', 0, numbers.length);
    const numbers = Array.from({ length: 1_000 }, (_, i) => `49151124${String(40_000 + i)}`);
    let asked = 0;
    stage.refuses = ({ data }) => {
      if (!isTooLarge(data)) return false;
      asked++;
      return 413;
    };
    // As a proxy may that is busy.
    stage.asksFor = ({ data }) => (isTooLarge(data) ? 60 : 0);
    await write();
    stage.aheadMs += 2_000;
    await wait(run, 15 * 60);
    expect(rows().flat()).to.have.length(1_000);
    expect(asked).to.be.at.most(15);
    stage.refuses = () => false;
    stage.asksFor = () => 0;
    for (let i = 0; i < 5; i++) await write();
    stage.posted = [];
    await wait(run, 60);
    expect(rows().flat()).to.have.length(6_000);
    expect((stage.posted.at(-1)!.data.changes as ChangeData[]).length).to.equal(500);
  });

  it('is told no further part once it is paused, though what else is under way takes longer', async () => {
    const run = await create({ types: BOTH });
    await record(await accept(PEOPLE.slice(0, 10)), 'acked', 0, 10);
    await record(await accept(PEOPLE.slice(20)), 'acked', 0, 40);
    stage.refuses = ({ data }) => (((data.changes as ChangeData[]) ?? []).length > 4 ? 413 : false);
    const settled = () =>
      space.store.redis.hget(workspaceKeys(space.store.space, 'main').webhook(run.id), 'lane:prompt');
    let release = () => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    let parts = 0;
    stage.take = async ({ type, data }) => {
      const isOfList = PEOPLE.indexOf(data.to as string) >= 20;
      if (isOfList) return isReleased;
      if (type !== 'messages.updated' || (data.changes as ChangeData[]).length > 4) return;
      parts++;
      await pauseWebhook(space.store, 'main', run.id);
      const before = await settled();
      void eventually(async () => (await settled()) !== before).then(release, release);
    };
    stage.aheadMs += 60_000;
    await run();
    expect(parts).to.equal(1);
  });
});
