import type { ChangeData } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { changeWebhook, pauseWebhook, readWebhook, resumeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${String(40_000 + i)}`);
const OUTAGE_SECONDS = 600;
const DAY_SECONDS = 24 * 3_600;

type Run = Awaited<ReturnType<ReturnType<typeof useLoggedEndpoint>['create']>>;

describe('an outage of an endpoint, in which its owner changes something', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();
  const read = (id: string, field: string) => space.store.redis.hget(workspaceKeys(space, 'main').webhook(id), field);
  const wait = async (run: Run, seconds: number, step = 5) => {
    for (let second = 0; second < seconds; second += step) {
      stage.aheadMs += step * 1000;
      await run();
    }
  };
  /** Its request was refused as often as it takes to look for something in its place. */
  const useRefused = async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated'] });
    await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
    stage.status = 503;
    await wait(run, OUTAGE_SECONDS);
    expect(stage.posted).to.have.lengthOf.at.least(4);
    return { run, refused: JSON.stringify(stage.posted[0]) };
  };
  const pauseAndResume = async ({ id }: Run) => {
    await pauseWebhook(space.store, 'main', id);
    await resumeWebhook(space.store, 'main', id);
  };
  const passTest = async ({ id }: Run, atMs = 0) => {
    const { revision } = (await readWebhook(space.store, 'main', id))!;
    const passed = { webhookId: 'evt_0', atMs, tookMs: 0, status: 200, error: null, answer: '' };
    await recordAttempt(space.store, 'main', id, { attempt: passed, verifiesRevision: revision });
  };
  const toldNumbers = () => stage.events.flatMap(({ data }) => (data.changes as ChangeData[]).map(({ to }) => to));

  it('ends with the request that was refused, as it was: resumed', async () => {
    const { run, refused } = await useRefused();
    await pauseAndResume(run);
    stage.status = 200;
    await wait(run, 60);
    expect(stage.events.map((event) => JSON.stringify(event))).to.deep.equal([refused]);
  });

  it('ends with the request that was refused, as it was: with other headers, and a test that is passed', async () => {
    const { run, refused } = await useRefused();
    await changeWebhook(space.store, 'main', run.id, { target: { headers: { 'x-new': '1' } } });
    await passTest(run);
    stage.status = 200;
    await wait(run, 60);
    expect(stage.events.map((event) => JSON.stringify(event))).to.deep.equal([refused]);
  });

  it('ends with the request that was refused, as it was: at another URL, where it is refused twice more', async () => {
    const { run, refused } = await useRefused();
    const { target } = (await readWebhook(space.store, 'main', run.id))!;
    await changeWebhook(space.store, 'main', run.id, { target: { url: `${target.url}new` } });
    await passTest(run, Date.now());
    stage.status = 200;
    let refusals = 2;
    stage.refuses = (event) => event.id === JSON.parse(refused).id && refusals-- > 0;
    for (let other = 0; other < 12; other++) {
      await record(await accept([`49151123999${10 + other}`]), 'acked', 0, 1);
      await wait(run, 5);
    }
    expect(stage.events).to.have.length(13);
    expect(stage.events.map((event) => JSON.stringify(event))).to.include(refused);
  });

  it('puts nothing aside, however often it is resumed', async () => {
    const { run } = await useRefused();
    for (let times = 0; times < 5; times++) {
      await pauseAndResume(run);
      await wait(run, 90);
      expect(Number(await read(run.id, 'parkedEvents')), `resumed ${times + 1} times`).to.equal(0);
    }
    stage.status = 200;
    await wait(run, 3_600, 60);
    expect(toldNumbers()).to.deep.equal(PEOPLE);
  });

  it('disables it after 72 hours all the same', async () => {
    const { run } = await useRefused();
    await pauseAndResume(run);
    await wait(run, 2 * DAY_SECONDS, 450);
    expect(await read(run.id, 'status')).to.equal('failing');
    await wait(run, 2 * DAY_SECONDS, 450);
    expect(await read(run.id, 'status')).to.equal('disabled');
    expect(stage.events).to.deep.equal([]);
  });

  it('is the end of what one request alone is refused: that is put aside where something else is taken since', async () => {
    const { run } = await useRefused();
    await pauseAndResume(run);
    stage.refuses = ({ data }) => JSON.stringify(data).includes(PEOPLE[3]!);
    stage.status = 200;
    await record(await accept(['4915112399999']), 'acked', 0, 1);
    await wait(run, 600);
    expect(Number(await read(run.id, 'parkedEvents'))).to.equal(1);
    expect(toldNumbers()).to.have.members([...PEOPLE.filter((_, i) => i !== 3), '4915112399999']);
  });
});
