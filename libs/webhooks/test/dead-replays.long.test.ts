import { listParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 150 }, (_, i) => `49151123${40_000 + i}`);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SENT = { types: ['message.sent'] };

describe('an endpoint that is dead for a day, in which nothing new happens, and was asked for a replay', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();
  type Run = Awaited<ReturnType<typeof create>>;
  const place = ({ id }: Run) => ({ workspace: 'main', id });

  const dieForADay = async (run: Run, status: number) => {
    const before = stage.posted.length;
    const range = { afterMs: Date.now() - HOUR_MS, beforeMs: Date.now() + stage.aheadMs + HOUR_MS };
    await replayWebhook(space.store, place(run), range, Date.now() + stage.aheadMs);
    stage.refuses = () => status;
    const endMs = stage.aheadMs + DAY_MS;
    for (; stage.aheadMs < endMs; stage.aheadMs += 30_000) await run();
    return stage.posted.length - before;
  };
  const expectAllTold = async (run: Run, count: number) => {
    stage.refuses = () => false;
    stage.events.length = 0;
    for (let look = 0; look < 8; look++) {
      stage.aheadMs += HOUR_MS / 3;
      await run();
    }
    expect(stage.events.length).to.be.at.least(count);
    expect(new Set(stage.events.map(({ id }) => id)).size).to.equal(count);
  };

  for (const concurrency of [1, 5, 20]) {
    it(`gets 110 requests at most, ${concurrency} at a time, and then all of the replay`, async () => {
      const run = await create({ ...SENT, concurrency });
      await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
      await run();
      expect(stage.events).to.have.length(PEOPLE.length);
      expect(await dieForADay(run, 503)).to.be.within(80, 110);
      await expectAllTold(run, PEOPLE.length);
    });

    it(`gets 110 requests at most, ${concurrency} at a time, where something is put aside as well`, async () => {
      const run = await create({ ...SENT, concurrency });
      const tag = await accept(PEOPLE);
      const refused = new Set(PEOPLE.slice(0, 5));
      stage.refuses = ({ data }) => refused.has(String(data.to));
      await record(tag, 'acked', 0, 20);
      for (let i = 20; i < 50; i++) {
        await record(tag, 'acked', i, i + 1);
        stage.aheadMs += 10_000;
        await run();
      }
      expect(await listParked(space.store, place(run), { limit: 10 })).to.have.length(5);
      expect(await dieForADay(run, 503)).to.be.within(80, 110);
      await expectAllTold(run, 50);
    });
  }
});
