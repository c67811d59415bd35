import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${String(40_000 + i)}`);
const MINUTE_MS = 60_000;

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

  it('is disabled after 72 hours of that, and 110 requests a day', async () => {
    const run = await failInLists();
    await wait(run, 74 * 60, 5);
    expect(stage.events).to.deep.equal([]);
    expect(stage.posted.length).to.be.within(150, 330);
    expect(await statusOf(run)).to.equal('disabled');
  });
});
