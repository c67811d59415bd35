import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { recordResults } from '@gateway/store/sends/change-send';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const SENT = 'message.sent';
const DELIVERED = 'message.delivered';
const TOGETHER = 'messages.updated';
const PEOPLE = ['491511230001', '491511230002', '491511230003'];

const changesIn = ({ data }: GatewayEvent) =>
  ((data.changes as ChangeData[]) ?? [data])
    .filter(({ to }) => PEOPLE.includes(to!))
    .map(({ index, status }) => `${index} ${status}`);

describe('an endpoint that asks for other types while a request of the middle of what one step has changed is refused', () => {
  const { space, stage, create, accept, ownership } = useLoggedEndpoint();

  const told = () => stage.events.flatMap(changesIn);
  const ask = (run: { id: string }, types: readonly string[]) =>
    changeWebhook(space.store, 'main', run.id, { settings: { types: [...types] } });
  const wait = async (run: () => Promise<string>, seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      stage.aheadMs += 5_000;
      await run();
    }
  };
  const step = (
    tag: Awaited<ReturnType<typeof accept>>,
    ...changes: [recipient: number, event: 'acked' | 'delivered' | 'read'][]
  ) =>
    recordResults(space.store, ownership, {
      ...{ tag, nowMs: Date.now() + stage.aheadMs },
      events: changes.map(([recipient, event]) => ({ recipient, part: 0, event })),
    });

  for (const concurrency of [1, 5]) {
    it(`is told nothing of those of whom something is put aside, before that (${concurrency})`, async () => {
      const run = await create({ types: [SENT, TOGETHER], concurrency, gatherSeconds: 1 });
      const refused = new Set(['1 sent']);
      stage.refuses = (event) => changesIn(event).some((change) => refused.has(change));
      const tag = await accept(PEOPLE);
      await step(tag, [1, 'acked']);
      await wait(run, 30);
      await step(await accept(['491511230009']), [0, 'acked']);
      await wait(run, 60);
      expect(told(), 'nothing of the one that is refused').to.deep.equal([]);

      const refuses = stage.refuses;
      // It fails in the middle of the step.
      stage.refuses = (event) => changesIn(event).join() !== '0 sent' || event.type !== SENT;
      await step(tag, [0, 'acked'], [1, 'delivered'], [2, 'acked']);
      await run();
      expect(told()).to.deep.equal(['0 sent']);
      await ask(run, [SENT, DELIVERED]);
      stage.refuses = refuses;
      await wait(run, 120);
      expect(told()).not.to.include('1 delivered');
      refused.clear();
      await wait(run, 3_600);
      expect(told().filter((change) => change.startsWith('1'))).to.deep.equal(['1 sent', '1 delivered']);
    });
  }

  it('is told what else the step has changed of those of whom something was taken', async () => {
    const run = await create({ types: [SENT, TOGETHER], concurrency: 5, gatherSeconds: 1 });
    stage.refuses = (event) => changesIn(event).includes('1 sent');
    const tag = await accept(PEOPLE);
    await step(tag, [0, 'acked'], [0, 'delivered'], [1, 'acked']);
    await run();
    expect(told(), 'one of two').to.deep.equal(['0 sent']);
    await ask(run, [SENT, DELIVERED]);
    stage.refuses = () => false;
    await wait(run, 600);
    expect(told().sort()).to.deep.equal(['0 delivered', '0 sent', '1 sent']);
  });

  it('is told what was put aside together in place of alone, whatever it asks for by then', async () => {
    for (const types of [[TOGETHER], [DELIVERED]]) {
      const run = await create({ types: [SENT, TOGETHER], gatherSeconds: 1 });
      const tag = await accept(PEOPLE);
      await step(tag, [0, 'acked']);
      await wait(run, 30);
      stage.events.length = 0;
      stage.refuses = (event) => event.type === TOGETHER && changesIn(event).length > 0;
      await step(tag, [0, 'delivered'], [1, 'acked'], [1, 'delivered']);
      await run();
      expect(told()).to.deep.equal(['1 sent']);
      await ask(run, [DELIVERED, TOGETHER]);
      for (let others = 0; others < 6; others++) {
        await step(await accept(['491511230009']), [0, 'acked']);
        await wait(run, 30);
      }
      const { webhook } = workspaceKeys(space.store.space, 'main');
      expect(Number(await space.store.redis.hget(webhook(run.id), 'parkedEvents'))).to.be.greaterThan(1);
      await ask(run, types);
      stage.refuses = () => false;
      await wait(run, 1_800);
      expect(told(), types.join()).to.include.members(['0 delivered', '1 delivered']);
    }
  });

  it('is told what the claim tells more of before what was tried in its place', async () => {
    const run = await create({ types: [SENT] });
    const tags = [];
    for (const person of PEOPLE) tags.push(await accept([person]));
    const [first, stuck, other] = tags as [(typeof tags)[0], (typeof tags)[0], (typeof tags)[0]];
    const ofWhom = (event: GatewayEvent) => PEOPLE.indexOf(String(event.data.to));
    await step(first, [0, 'acked']);
    await run();
    await step(first, [0, 'delivered']);
    await step(stuck, [0, 'acked']);
    stage.refuses = (event) => ofWhom(event) === 1;
    await run();
    await step(first, [0, 'read']);
    await step(other, [0, 'acked']);
    let isChanged = false;
    stage.take = async (event) => {
      if (isChanged || ofWhom(event) !== 2) return;
      isChanged = true;
      await ask(run, [SENT, DELIVERED, 'message.read']);
      run.end();
    };
    await wait(run, 60);
    expect(isChanged).to.equal(true);
    stage.refuses = () => false;
    await wait(run, 4_000);
    const ofFirst = stage.events.filter((event) => ofWhom(event) === 0).map(({ type }) => type);
    expect([...new Set(ofFirst)]).to.deep.equal([SENT, DELIVERED, 'message.read']);
  });
});
