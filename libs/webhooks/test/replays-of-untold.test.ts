import type { ChangeData } from '@gateway/contracts/events/events';
import { listParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 14 }, (_, i) => `49151123${40_000 + i}`);
const REFUSED = 3;
const QUARTER_MS = 15 * 60_000;

describe('a replay of a time in which something happened that was never told', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();
  type Run = Awaited<ReturnType<typeof create>>;

  const now = () => Date.now() + stage.aheadMs;
  const place = ({ id }: Run) => ({ workspace: 'main', id });
  const replayFrom = (run: Run, afterMs: number) =>
    replayWebhook(space.store, place(run), { afterMs, beforeMs: now() + 1 }, now());
  const statusesOf = (person: number) =>
    stage.events.flatMap(({ data }) =>
      (data.changes as ChangeData[]).filter(({ index }) => index === person).map(({ status }) => status),
    );
  const passTime = async (run: Run, steps: number, stepMs: number) => {
    for (let i = 0; i < steps; i++, stage.aheadMs += stepMs) await run();
  };

  it('tells it of a recipient for whom something is put aside behind that', async () => {
    const run = await create({ types: ['messages.updated'], gatherSeconds: 1 });
    stage.refuses = ({ data }) => (data.changes as ChangeData[]).some(({ index }) => index === REFUSED);
    const tag = await accept(PEOPLE);
    await record(tag, 'acked', 0, PEOPLE.length);
    const fromMs = now() + 1;
    await passTime(run, 5, 30_000);
    await record(tag, 'delivered', REFUSED + 1, PEOPLE.length);
    await passTime(run, 5, 30_000);
    expect(await listParked(space.store, place(run), { limit: 10 })).to.have.length(1);
    await passTime(run, 8, QUARTER_MS);
    await record(tag, 'delivered', REFUSED, REFUSED + 1);
    await record(tag, 'read', 0, PEOPLE.length);
    await passTime(run, 2, 5_000);
    expect(statusesOf(REFUSED), 'its next try is a quarter of an hour away').to.deep.equal([]);
    expect(statusesOf(0)).to.deep.equal(['sent', 'read']);
    stage.refuses = () => false;
    await replayFrom(run, fromMs);
    await run();
    expect(statusesOf(0)).to.deep.equal(['sent', 'read', 'read']);
    await passTime(run, 4, QUARTER_MS);
    expect(statusesOf(REFUSED)).to.deep.equal(['sent', 'delivered', 'read']);
    expect(await listParked(space.store, place(run), { limit: 10 })).to.deep.equal([]);
  });

  it('waits for what is being gathered, and tells it again', async () => {
    const run = await create({ types: ['messages.updated'], gatherSeconds: 300 });
    const tag = await accept(PEOPLE);
    await record(tag, 'acked', 0, 13);
    const fromMs = now() + 1;
    stage.aheadMs += 20;
    await record(tag, 'delivered', 0, 13);
    await run();
    stage.aheadMs += 1_000;
    await replayFrom(run, fromMs);
    await run();
    expect(stage.events).to.deep.equal([]);
    stage.aheadMs += 300_000;
    await run();
    await run();
    expect(statusesOf(0)).to.deep.equal(['sent', 'delivered', 'delivered']);
  });

  it('tells at once what was told before, whatever waits behind it', async () => {
    const run = await create({ types: ['messages.updated'], gatherSeconds: 10 });
    const tag = await accept(PEOPLE);
    const fromMs = now();
    await record(tag, 'acked', 0, 13);
    stage.aheadMs += 11_000;
    await run();
    stage.refuses = ({ data }) => (data.changes as ChangeData[]).some(({ status }) => status === 'read');
    await record(tag, 'read', 0, 13);
    stage.aheadMs += 11_000;
    await run();
    expect(statusesOf(0)).to.deep.equal(['sent']);
    await replayFrom(run, fromMs);
    await passTime(run, 8, 30_000);
    expect(statusesOf(0)).to.deep.equal(['sent', 'sent']);
  });
});
