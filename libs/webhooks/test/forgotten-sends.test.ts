import { LOG_START } from '@gateway/contracts/events/cursor';
import { eventSchema } from '@gateway/contracts/events/events';
import type { SendTag } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { readEvents } from '@gateway/store/events/reading/read-events';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 60 }, (_, i) => `49151123${String(40_000 + i)}`);

describe('what a webhook was not told of a send before that was forgotten for room', () => {
  const { space, address, stage, create, accept, record, relay, rows, useDevice } = useLoggedEndpoint();

  const forget = (tag: SendTag) => space.store.redis.del(sendKeys(space, address, tag).record);
  const gaps = () => stage.events.flatMap(({ type, data }) => (type === 'events.gap' ? data.missing : []));
  const told = () =>
    rows()
      .flat()
      .map(({ to }) => PEOPLE.indexOf(to!))
      .sort((one, other) => one - other);
  const people = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
  const types = ['messages.updated'];

  afterEach(() => {
    for (const event of stage.posted) expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
  });

  it('is a gap where it was put aside', async () => {
    const run = await create({ gatherSeconds: 1, types });
    const tag = await accept(PEOPLE.slice(0, 20));
    stage.refuses = ({ data }) => JSON.stringify(data).includes(PEOPLE[7]!);
    await record(tag, 'acked', 0, 20);
    await record(await accept(PEOPLE.slice(20, 40)), 'acked', 0, 20);
    for (let second = 0; second < 60; second += 5) {
      stage.aheadMs += 5_000;
      await run();
    }
    expect(told()).to.deep.equal([...people(0, 7), ...people(8, 40)]);
    stage.refuses = () => false;
    await forget(tag);
    stage.aheadMs += 3_600_000;
    await run();
    expect(gaps()).to.deep.equal([1]);
  });

  for (const [place, which] of [
    ['before', 0],
    ['between', 1],
    ['behind', 2],
  ] as const) {
    it(`is a gap where others were in one request with it, and it was ${place} them`, async () => {
      const run = await create({ gatherSeconds: 1, types });
      const tags: SendTag[] = [];
      for (const from of [0, 20, 40]) tags.push(await accept(PEOPLE.slice(from, from + 20)));
      for (const tag of tags) await record(tag, 'acked', 0, 10);
      stage.status = 500;
      stage.aheadMs += 2_000;
      await run();
      expect(stage.posted.flatMap(({ data }) => data.changes)).to.have.length(30);
      await forget(tags[which]!);
      stage.status = 200;
      stage.aheadMs += 20_000;
      await run();
      expect(gaps()).to.deep.equal([10]);
      expect(rows(), 'requests').to.have.length(which === 1 ? 2 : 1);
      const others = [0, 20, 40].filter((_, i) => i !== which);
      expect(told()).to.deep.equal(others.flatMap((from) => people(from, from + 10)));
      expect(new Set(stage.events.map(({ id }) => id)).size).to.equal(stage.events.length);
    });
  }

  it('is a gap also where it was tried in the place of something else', async () => {
    const run = await create({ gatherSeconds: 1, types });
    const tags: SendTag[] = [];
    for (const from of [0, 20, 40]) tags.push(await accept(PEOPLE.slice(from, from + 20)));
    await record(tags[0]!, 'acked', 0, 10);
    stage.refuses = ({ data }) => JSON.stringify(data).includes(PEOPLE[7]!);
    for (let second = 0; second < 20; second += 5) {
      stage.aheadMs += 5_000;
      await run();
    }
    await record(tags[1]!, 'acked', 0, 10);
    await record(tags[2]!, 'acked', 0, 10);
    // Its answer is lost.
    stage.refuses = () => 0;
    while (stage.posted.every(({ data }) => !JSON.stringify(data).includes(PEOPLE[20]!))) {
      stage.aheadMs += 5_000;
      await run();
    }
    await forget(tags[2]!);
    stage.refuses = () => false;
    stage.aheadMs += 3_600_000;
    await run();
    expect(gaps()).to.deep.equal([10]);
    expect(told()).to.deep.equal([...people(0, 10), ...people(20, 30)]);
  });

  it('is one gap however many entries of the log it was, up to what is told, and is counted once', async () => {
    const run = await create({ gatherSeconds: 1, types });
    const other = await useDevice('b');
    const [gone, alsoGone, last] = [
      await accept(PEOPLE),
      await accept(PEOPLE.slice(0, 20)),
      await other.accept(PEOPLE.slice(0, 20)),
    ];
    for (let n = 0; n < 60; n++) {
      await record(gone, 'acked', n, n + 1);
      await relay();
    }
    for (let n = 0; n < 20; n += 5) await record(alsoGone, 'acked', n, n + 5);
    await relay();
    await other.record(last, 'acked', 0, 2);
    await relay();
    await record(gone, 'read', 0, 3);
    await relay();
    for (const tag of [gone, alsoGone]) await forget(tag);
    stage.aheadMs += 2_000;
    await run();
    expect(gaps()).to.deep.equal([80, 3]);
    expect(told()).to.deep.equal([0, 1]);
    expect(stage.events.map(({ type }) => type)).to.deep.equal(['events.gap', 'messages.updated', 'events.gap']);
    expect(stage.gaps).to.deep.equal(['send_gone', 'send_gone']);
    const page = await readEvents({ store: space.store, workspace: 'main' }, LOG_START, { limit: 1_000, types });
    const read = 'rows' in page ? page.rows.map(({ event }) => event.data.missing ?? 'told') : [];
    expect(read, 'by who reads').to.deep.equal([80, 'told', 3]);
    expect(new Set(stage.events.map(({ id }) => id)).size).to.equal(3);
  });

  it('is one gap that stays the same while it is refused, and once it was put aside', async () => {
    const run = await create({ gatherSeconds: 1, types });
    const tag = await accept(PEOPLE);
    for (let n = 0; n < 30; n++) {
      await record(tag, 'acked', n, n + 1);
      await relay();
    }
    const other = await accept(PEOPLE.slice(0, 20));
    await record(other, 'acked', 0, 20);
    await forget(tag);
    stage.refuses = ({ type }) => type === 'events.gap';
    for (let second = 0; second < 60; second += 5) {
      stage.aheadMs += 5_000;
      await run();
    }
    expect(told()).to.deep.equal(people(0, 20));
    stage.refuses = () => false;
    stage.aheadMs += 3_600_000;
    await run();
    expect(gaps()).to.deep.equal([30]);
    const bodies = stage.posted.filter(({ type }) => type === 'events.gap').map((event) => JSON.stringify(event));
    expect(bodies).to.have.length.above(2);
    expect(new Set(bodies).size).to.equal(1);
  });

  it('is another gap, of another id, once other types are asked for', async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated', 'send.finished'] });
    const tag = await accept(PEOPLE.slice(0, 20));
    // With the last of them it has ended.
    await record(tag, 'acked', 0, 20);
    await relay();
    await forget(tag);
    stage.refuses = () => true;
    stage.aheadMs += 2_000;
    await run();
    await changeWebhook(space.store, 'main', run.id, { settings: { types: ['send.finished'] } });
    stage.refuses = () => false;
    stage.aheadMs += 20_000;
    await run();
    const page = await readEvents({ store: space.store, workspace: 'main' }, LOG_START, { limit: 1_000, types });
    const read = 'rows' in page ? page.rows.map(({ event }) => event) : [];
    const all = [...stage.posted, ...read];
    expect(all.map(({ data }) => data.missing)).to.deep.equal([21, 1, 20]);
    expect(new Set(all.map(({ id }) => id)).size).to.equal(3);
  });

  it('is told as its own where the request that it was in ends before what is gone as well', async () => {
    const run = await create({ gatherSeconds: 1, types });
    const [first, second] = [await accept(PEOPLE.slice(0, 20)), await accept(PEOPLE.slice(20, 40))];
    await record(first, 'acked', 0, 10);
    stage.status = 500;
    stage.aheadMs += 2_000;
    await run();
    await record(second, 'acked', 0, 10);
    await relay();
    for (const tag of [first, second]) await forget(tag);
    stage.status = 200;
    stage.aheadMs += 20_000;
    await run();
    expect(gaps()).to.deep.equal([10, 10]);
  });
});
