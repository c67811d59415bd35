import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { recordResults } from '@gateway/store/sends/change-send';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${String(40_000 + i)}`);
const ALONE = ['message.sent'];
const TOGETHER = ['messages.updated'];

describe('an endpoint that asks for other types in the middle of what one step has changed', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();

  /** Ids of what was told of the recipients, in order. */
  const told = () =>
    stage.events.flatMap(({ type, data }) =>
      type === 'messages.updated' ? (data.changes as ChangeData[]).map(({ index }) => index) : [data.index as number],
    );

  for (const [what, before, after, concurrency] of [
    ['each change alone, and then all together', ALONE, TOGETHER, 1],
    ['several at a time alone, and then all together', ALONE, TOGETHER, 4],
    ['all together, and then each alone', TOGETHER, ALONE, 1],
  ] as const) {
    it(`is told each once: ${what}`, async () => {
      const run = await create({ types: [...before], gatherSeconds: 1, concurrency });
      const tag = await accept(PEOPLE);
      let requests = 0;
      stage.refuses = () => before === TOGETHER || requests++ >= 3;
      await record(tag, 'acked', 0, 20);
      stage.aheadMs += 2_000;
      await run();
      expect(told()).to.have.length(before === ALONE ? 3 : 0);
      expect(stage.posted.length, 'one of them is refused').to.be.above(told().length);
      await changeWebhook(space.store, 'main', run.id, { settings: { types: [...after] } });
      stage.refuses = () => false;
      stage.aheadMs += 60_000;
      await run();
      expect(told().sort((one, other) => one - other)).to.deep.equal([...PEOPLE.keys()]);
    });
  }
});

/** `3 sent`: of whom, and what became of the message. */
const changesIn = ({ data }: GatewayEvent) =>
  ((data.changes as ChangeData[]) ?? [data]).map(({ index, status }) => `${index} ${status}`);

describe('an endpoint that asks for both ways, or for one of them, of some changes', () => {
  const { space, stage, create, accept, record, ownership } = useLoggedEndpoint();
  const DELIVERED = 'message.delivered';

  const told = () => stage.events.flatMap(changesIn).sort();
  const wait = async (run: () => Promise<string>, seconds: number) => {
    for (let second = 0; second < seconds; second += 20) {
      stage.aheadMs += 20_000;
      await run();
    }
  };
  const ask = (run: { id: string }, types: readonly string[]) =>
    changeWebhook(space.store, 'main', run.id, { settings: { types: [...types] } });
  /** One step: those with an even number got it, the others were sent it. */
  const recordMixed = async () => {
    const tag = await accept(PEOPLE);
    const events = PEOPLE.map((_, recipient) => ({
      ...{ recipient, part: 0 },
      event: recipient % 2 === 0 ? ('delivered' as const) : ('acked' as const),
    }));
    await recordResults(space.store, ownership, { tag, nowMs: Date.now() + stage.aheadMs, events });
    stage.aheadMs += 2_000;
  };
  const mixed = PEOPLE.map((_, i) => `${i} ${i % 2 === 0 ? 'delivered' : 'sent'}`).sort();

  it('is told alone what it refused alone, as the last of what one step has changed, before it asked for that only', async () => {
    const run = await create({ types: [...ALONE, ...TOGETHER], gatherSeconds: 1 });
    stage.refuses = () => true;
    await record(await accept(PEOPLE), 'acked', 0, 1);
    stage.aheadMs += 2_000;
    await run();
    expect(stage.posted).to.have.length(1);
    await ask(run, ALONE);
    stage.refuses = () => false;
    await wait(run, 60);
    expect(told()).to.deep.equal(['0 sent']);
  });

  for (const [what, after] of [
    ['all together', TOGETHER],
    ['each alone', [...ALONE, DELIVERED]],
  ] as const) {
    it(`is told each once, some of them alone and all together, and then ${what}`, async () => {
      const run = await create({ types: [...TOGETHER, DELIVERED], gatherSeconds: 1 });
      stage.refuses = ({ type }) => type === 'messages.updated';
      await recordMixed();
      await run();
      expect(told(), 'alone').to.deep.equal(mixed.filter((each) => each.includes('delivered')));
      expect(stage.posted.at(-1)?.type, 'and all together').to.equal('messages.updated');
      await ask(run, after);
      stage.refuses = () => false;
      await wait(run, 60);
      expect(told()).to.deep.equal(mixed);
    });
  }

  it('is told nothing twice together of what was told in parts before it asked for each alone as well', async () => {
    const run = await create({ types: TOGETHER, gatherSeconds: 1 });
    let parts = 0;
    stage.refuses = (event) => (changesIn(event).length > 10 || parts++ > 0 ? 413 : false);
    await recordMixed();
    await run();
    expect(told()).to.have.length(10);
    await ask(run, [...TOGETHER, ...ALONE]);
    stage.refuses = () => false;
    await wait(run, 60);
    const together = stage.events.filter(({ type }) => type === 'messages.updated').flatMap(changesIn);
    expect(together.sort()).to.deep.equal(mixed);
  });

  it('is told the rest of those of whom the first was taken, though it was one request before', async () => {
    const run = await create({ types: TOGETHER, gatherSeconds: 1 });
    stage.refuses = () => true;
    const tag = await accept(PEOPLE);
    await record(tag, 'acked', 0, 5);
    await record(tag, 'delivered', 0, 5);
    stage.aheadMs += 2_000;
    await run();
    await ask(run, [...TOGETHER, ...ALONE]);
    let taken = 0;
    stage.refuses = () => taken++ >= 3;
    await wait(run, 60);
    stage.refuses = () => false;
    await wait(run, 1_200);
    const together = stage.events.filter(({ type }) => type === 'messages.updated').flatMap(changesIn);
    const all = [0, 1, 2, 3, 4].flatMap((i) => [`${i} delivered`, `${i} sent`]);
    expect([...new Set(together)].sort()).to.deep.equal(all);
    expect(together, 'once').to.have.length(all.length);
  });

  /** What is about the first one is refused alone, until it is put aside, and what tells it together behind it. */
  const usePutAside = async () => {
    const run = await create({ types: [...ALONE, ...TOGETHER], gatherSeconds: 1 });
    stage.refuses = (event) => changesIn(event).includes('0 sent');
    await record(await accept(PEOPLE), 'acked', 0, 5);
    await wait(run, 200);
    expect(told(), 'all others in both ways').to.deep.equal([1, 2, 3, 4].flatMap((i) => [`${i} sent`, `${i} sent`]));
    return run;
  };
  const ofFirst = () => told().filter((each) => each === '0 sent');

  it('is not told together what was taken alone, put aside, while it came to ask for that only', async () => {
    const run = await usePutAside();
    stage.take = async () => void (await ask(run, TOGETHER));
    stage.refuses = () => false;
    await wait(run, 1_200);
    expect(ofFirst()).to.deep.equal(['0 sent']);
  });

  it('is told once what is put aside in both ways, however often it asks for another one', async () => {
    const run = await usePutAside();
    await ask(run, TOGETHER);
    await wait(run, 1_200);
    await ask(run, ALONE);
    await wait(run, 60);
    stage.refuses = () => false;
    await wait(run, 1_200);
    expect(ofFirst()).to.deep.equal(['0 sent']);
  });

  for (const types of [
    [...ALONE, DELIVERED],
    [...ALONE, DELIVERED, 'send.finished'],
  ]) {
    it(`is told each alone of what it refused together, with which the send ended, and again where that fails: ${types}`, async () => {
      const run = await create({ types: [...TOGETHER, ...ALONE, 'send.finished'], gatherSeconds: 1 });
      stage.refuses = ({ type }) => type === 'messages.updated';
      const tag = await accept(PEOPLE.slice(0, 4));
      const events = (['delivered', 'delivered', 'delivered', 'acked'] as const).map((event, recipient) => ({
        ...{ recipient, part: 0, event },
      }));
      await recordResults(space.store, ownership, { tag, nowMs: Date.now() + stage.aheadMs, events });
      await run();
      await ask(run, types);
      stage.refuses = (event) => changesIn(event).includes('1 delivered');
      await wait(run, 20);
      stage.refuses = () => false;
      await wait(run, 600);
      const changes = stage.events.filter(({ type }) => type !== 'send.finished').flatMap(changesIn);
      expect([...new Set(changes)].sort()).to.deep.equal(['0 delivered', '1 delivered', '2 delivered', '3 sent']);
    });
  }

  it('is told together in order what one step has changed twice of one person, around what it is told alone', async () => {
    const run = await create({ types: [...TOGETHER, ...ALONE], gatherSeconds: 1 });
    const tag = await accept(PEOPLE.slice(0, 2));
    await record(tag, 'acked', 0, 1);
    await run();
    stage.events.length = 0;
    const step = (...events: { recipient: number; part: number; event: 'acked' | 'delivered' | 'read' }[]) =>
      recordResults(space.store, ownership, { tag, nowMs: Date.now() + stage.aheadMs, events });
    await step(
      { recipient: 0, part: 0, event: 'delivered' },
      { recipient: 1, part: 0, event: 'acked' },
      { recipient: 0, part: 0, event: 'read' },
    );
    await wait(run, 60);
    expect(
      stage.events.filter(({ type }) => type !== 'send.finished').map((event) => changesIn(event).join()),
    ).to.deep.equal(['1 sent', '0 delivered,1 sent,0 read']);
  });

  it('is told the same in order where it asks for nothing alone any more', async () => {
    const run = await create({ types: [...TOGETHER, ...ALONE], gatherSeconds: 1 });
    const tag = await accept(PEOPLE.slice(0, 2));
    await record(tag, 'acked', 0, 1);
    await run();
    await wait(run, 10);
    stage.events.length = 0;
    stage.refuses = ({ type }) => type === 'messages.updated';
    const events = [
      { recipient: 0, part: 0, event: 'delivered' },
      { recipient: 1, part: 0, event: 'acked' },
      { recipient: 0, part: 0, event: 'read' },
    ] as const;
    await recordResults(space.store, ownership, { tag, nowMs: Date.now() + stage.aheadMs, events });
    await run();
    expect(stage.events.flatMap(changesIn)).to.deep.equal(['1 sent']);
    await ask(run, TOGETHER);
    stage.refuses = () => false;
    await wait(run, 600);
    const changes = stage.events.filter(({ type }) => type !== 'send.finished').flatMap(changesIn);
    expect(changes.filter((change) => change.startsWith('0'))).to.deep.equal(['0 delivered', '0 read']);
  });
});
