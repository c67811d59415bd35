import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${String(40_000 + i)}`);
const MINUTE_MS = 60_000;

describe('an endpoint for which the order is strict, and that refuses what a list came to', () => {
  const { space, stage, create, accept, record, rows } = useLoggedEndpoint();

  /** Refused in the lane of lists, while each step has something for the other lane, that would be taken. */
  const fail = async () => {
    const run = await create({ gatherSeconds: 1, order: 'strict' });
    stage.refuses = ({ type }) => type === 'messages.updated';
    await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
    stage.aheadMs += 2_000;
    await run();
    expect(stage.posted).to.have.length(1);
    let people = 0;
    const wait = async (minutes: number, stepMinutes = 1) => {
      for (let minute = 0; minute < minutes; minute += stepMinutes) {
        stage.aheadMs += stepMinutes * MINUTE_MS;
        await addOptOuts(space.store, 'main', {
          numbers: [`44770090${String(1_000 + people++)}`],
          source: 'api',
          atMs: Date.now(),
        });
        await run();
      }
    };
    return { run, wait, status: async () => (await readWebhook(space.store, 'main', run.id))!.status };
  };

  it('is told nothing behind it, in any lane, is seen to fail, and is told all in order once it takes it', async () => {
    const { run, wait, status } = await fail();
    await wait(40);
    expect(stage.events).to.deep.equal([]);
    expect(new Set(stage.posted.map(({ id }) => id)).size).to.equal(1);
    expect(stage.posted).to.have.length.within(5, 8);
    expect(await status()).to.equal('failing');
    stage.refuses = () => false;
    stage.aheadMs += 20 * MINUTE_MS;
    await run();
    await run();
    expect(rows().flat()).to.have.length(PEOPLE.length);
    expect(stage.events.map(({ type }) => type).slice(0, 2)).to.deep.equal(['messages.updated', 'optout.added']);
    expect(stage.events.filter(({ type }) => type === 'optout.added')).to.have.length(40);
    expect(await status()).to.equal('active');
  });

  it('is asked for a refused replay as seldom as if it took nothing else, and is told all else meanwhile', async () => {
    const run = await create({ gatherSeconds: 1, order: 'strict' });
    await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
    stage.aheadMs += 2_000;
    await run();
    const ids = stage.events.map(({ id }) => id);
    await replayWebhook(space.store, { workspace: 'main', id: run.id }, { ids }, Date.now());
    stage.refuses = ({ type }) => type === 'messages.updated';
    for (let minute = 0; minute < 180; minute++) {
      stage.aheadMs += MINUTE_MS;
      await addOptOuts(space.store, 'main', {
        numbers: [`44770090${1_000 + minute}`],
        source: 'api',
        atMs: Date.now(),
      });
      await run();
    }
    expect(stage.events.filter(({ type }) => type === 'optout.added')).to.have.length.within(175, 180);
    expect(stage.posted.filter(({ type }) => type === 'messages.updated')).to.have.length.within(10, 20);
  });

  it('is disabled after 72 hours of that, and 110 requests a day', async () => {
    const { wait, status } = await fail();
    await wait(74 * 60, 5);
    expect(stage.events).to.deep.equal([]);
    expect(stage.posted.length).to.be.within(150, 330);
    expect(await status()).to.equal('disabled');
  });
});
