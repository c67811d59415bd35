import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import type { SendTag } from '@gateway/contracts/ids';
import { listParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { changeWebhook, readWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${String(40_000 + i)}`);
const MINUTE_MS = 60_000;
/** Whom an event tells of, in order. */
const toldIn = ({ data }: GatewayEvent): number[] =>
  ((data.changes as ChangeData[]) ?? []).map(({ to }) => PEOPLE.indexOf(to as string));

describe('an endpoint for which the order is strict, and that refuses what a list came to', () => {
  const { space, stage, create, accept, record, rows } = useLoggedEndpoint();

  let people: number;
  beforeEach(() => {
    people = 0;
  });
  /** As time goes by something is told in the other lane, again and again. */
  const wait = async (run: () => Promise<string>, minutes: number, stepMinutes = 1) => {
    for (let minute = 0; minute < minutes; minute += stepMinutes) {
      stage.aheadMs += stepMinutes * MINUTE_MS;
      const numbers = [`44770090${String(1_000 + people++)}`];
      await addOptOuts(space.store, 'main', { numbers, source: 'api', atMs: Date.now() });
      await run();
    }
  };
  const statusOf = async ({ id }: { id: string }) => (await readWebhook(space.store, 'main', id))!.status;

  const failInLists = async () => {
    const run = await create({ gatherSeconds: 1, order: 'strict' });
    stage.refuses = ({ type }) => type === 'messages.updated';
    await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
    stage.aheadMs += 2_000;
    await run();
    expect(stage.posted).to.have.length(1);
    return run;
  };

  it('is told nothing behind it, in any lane, is seen to fail, and is told all in order once it takes it', async () => {
    const run = await failInLists();
    await wait(run, 40);
    expect(stage.events).to.deep.equal([]);
    expect(new Set(stage.posted.map(({ id }) => id)).size).to.equal(1);
    expect(stage.posted).to.have.length.within(5, 8);
    expect(await statusOf(run)).to.equal('failing');
    stage.refuses = () => false;
    stage.aheadMs += 20 * MINUTE_MS;
    await run();
    await run();
    expect(rows().flat()).to.have.length(PEOPLE.length);
    expect(stage.events.map(({ type }) => type).slice(0, 2)).to.deep.equal(['messages.updated', 'optout.added']);
    expect(stage.events.filter(({ type }) => type === 'optout.added')).to.have.length(40);
    expect(await statusOf(run)).to.equal('active');
  });

  it('is asked for a refused replay as seldom as if it took nothing else, and is told all else meanwhile', async () => {
    const run = await create({ gatherSeconds: 1, order: 'strict' });
    await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
    stage.aheadMs += 2_000;
    await run();
    const ids = stage.events.map(({ id }) => id);
    await replayWebhook(space.store, { workspace: 'main', id: run.id }, { ids }, Date.now());
    stage.refuses = ({ type }) => type === 'messages.updated';
    await wait(run, 180);
    expect(stage.events.filter(({ type }) => type === 'optout.added')).to.have.length.within(175, 180);
    expect(stage.posted.filter(({ type }) => type === 'messages.updated')).to.have.length.within(10, 20);
  });

  /** The first is refused, and what is tried behind it in the order of each recipient has no answer: then the order is strict. */
  const becomeStrict = async (behind: (tag: SendTag) => Promise<unknown>) => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated'] });
    stage.refuses = (event) => (toldIn(event).includes(0) ? true : 0);
    const tag = await accept([PEOPLE[0]!]);
    await record(tag, 'acked', 0, 1);
    await run();
    await behind(tag);
    const isTried = () => stage.posted.some((event) => !toldIn(event).includes(0));
    for (let second = 0; second < 60 && !isTried(); second += 5) {
      stage.aheadMs += 5_000;
      await run();
    }
    expect(isTried()).to.equal(true);
    await changeWebhook(space.store, 'main', run.id, { settings: { order: 'strict' } });
    return run;
  };
  const sendTo = async (person: string) => record(await accept([person]), 'acked', 0, 1);

  it('is told nothing out of order that was tried behind another request before the order was strict', async () => {
    const run = await becomeStrict(async (tag) => {
      await sendTo(PEOPLE[1]!);
      await record(tag, 'delivered', 0, 1);
      await sendTo(PEOPLE[2]!);
    });
    stage.refuses = (event) => JSON.stringify(event).includes('"delivered"');
    for (let minute = 0; minute < 30; minute++) {
      stage.aheadMs += MINUTE_MS;
      await run();
    }
    expect(stage.events.flatMap(toldIn), 'what is behind waits').to.deep.equal([0]);
    expect(await listParked(space.store, { workspace: 'main', id: run.id }, { limit: 9 })).to.deep.equal([]);
    stage.refuses = () => false;
    stage.aheadMs += 20 * MINUTE_MS;
    await run();
    const told = rows()
      .flat()
      .map(({ to, status }) => `${PEOPLE.indexOf(to!)} ${status}`);
    expect(told).to.deep.equal(['0 sent', '1 sent', '0 delivered', '2 sent']);
  });

  it('is told as it was what was tried behind another request, where that left nothing out', async () => {
    const run = await becomeStrict(() => sendTo(PEOPLE[1]!));
    const tried = stage.posted.find((event) => !toldIn(event).includes(0))!;
    await sendTo(PEOPLE[2]!);
    stage.refuses = () => false;
    stage.aheadMs += 20 * MINUTE_MS;
    await run();
    expect(stage.events.map(toldIn)).to.deep.equal([[0], [1], [2]]);
    expect(stage.events[1]).to.deep.equal(tried);
  });

  it('is disabled after 72 hours of that, and 110 requests a day', async () => {
    const run = await failInLists();
    await wait(run, 74 * 60, 5);
    expect(stage.events).to.deep.equal([]);
    expect(stage.posted.length).to.be.within(150, 330);
    expect(await statusOf(run)).to.equal('disabled');
  });
});
