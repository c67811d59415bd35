import type { Doorbell } from '@gateway/contracts/doorbell';
import { SHARDS } from '@gateway/contracts/shards';
import { DoorbellListener, ringDoorbell } from '@gateway/store/core/doorbells';
import { eventually } from '@gateway/testkit/eventually';
import { takeInSend } from '@gateway/testkit/sends/take-in-send';
import { expect } from 'chai';
import { useStewards } from './support/use-stewards.js';

const workspace = 'main';
const soon = { everyMs: 5 };

describe('the steward of a shard with sends that are not taken in', () => {
  const { stage, start, send, read, isClosed, dueMs, own } = useStewards();

  it('wakes an owner that has not taken a send in after two seconds, and then less and less often', async () => {
    await own('a');
    const messageId = await send('a');
    await start();
    await eventually(() => stage.stewards[0]!.steward.shards.length === SHARDS, soon);
    expect(stage.jobs).to.deep.equal([]);
    stage.aheadMs = 2_500;
    await eventually(() => stage.jobs.length === 1, soon);
    expect(stage.jobs[0]).to.deep.equal({
      options: { again: true },
      processId: 'sender-7',
      job: { v: 1, workspace, device: 'a', messageId, priority: 'bulk', requestId: 'r' },
    });
    const { createdAtMs } = (await read('a', messageId))!;
    // It waits once more as long as it has waited then.
    const waitedMs = async () => ((await dueMs('a', messageId)) - createdAtMs) / 2;
    expect(await waitedMs()).to.be.within(stage.aheadMs, stage.aheadMs + Date.now() - createdAtMs);
    stage.aheadMs = 10_000;
    await eventually(() => stage.jobs.length === 2, soon);
    expect(await waitedMs()).to.be.within(stage.aheadMs, stage.aheadMs + Date.now() - createdAtMs);
  });

  for (const [what, outcome] of [
    ['hangs', () => new Promise<void>(() => {})],
    ['fails', () => Promise.reject(new Error('its node is away'))],
  ] as const) {
    it(`tells an owner by a doorbell when its queue ${what}, and goes on with the other sends of the shard`, async () => {
      const listener = await DoorbellListener.listen(stage.space.clients.subscriber, stage.space.store.space);
      const bells: Doorbell[] = [];
      listener.on((bell) => void bells.push(bell));
      stage.adding = outcome;
      await own('a');
      await send('a');
      stage.aheadMs = 2_500;
      await start();
      await eventually(() => bells.length > 0, soon);
      expect(bells[0]).to.deep.equal({ topic: 'sends', workspace, device: 'a' });
      await isClosed('a', await send('a', { lifeMs: 50 }));
      expect(stage.errors).to.deep.equal([]);
      listener.close();
    });
  }

  it('rings a doorbell, too, for a send that is not taken in after that, and no more than one for all of a device: its worker may take no stage.jobs', async () => {
    const listener = await DoorbellListener.listen(stage.space.clients.subscriber, stage.space.store.space);
    const bells: Doorbell[] = [];
    listener.on((bell) => void bells.push(bell));
    await own('a');
    for (let i = 0; i < 3; i++) await send('a');
    await start();
    // As early as may be: two seconds later it rings.
    stage.aheadMs = 2_000;
    await eventually(() => stage.jobs.length === 3, soon);
    expect(bells).to.deep.equal([]);
    stage.aheadMs = 10_000;
    await eventually(() => stage.jobs.length === 6 && bells.length > 0, soon);
    await ringDoorbell(stage.space.store, { topic: 'sends', workspace, device: 'b' });
    await eventually(() => bells.some(({ device }) => device === 'b'), soon);
    expect(bells.map(({ device }) => device)).to.deep.equal(['a', 'b']);
    listener.close();
  });

  it('has a hundred stage.jobs at most that wait for queues, and tells owners of further sends by doorbells alone', async () => {
    const listener = await DoorbellListener.listen(stage.space.clients.subscriber, stage.space.store.space);
    let bells = 0;
    listener.on(() => void bells++);
    stage.adding = () => new Promise<void>(() => {});
    await own('a');
    for (let i = 0; i < 110; i++) await send('a');
    stage.aheadMs = 2_500;
    await start();
    await eventually(() => bells >= 110, soon);
    expect(stage.jobs).to.have.length(100);
    listener.close();
  });

  it('leaves a send to its owner that has taken it in, and one without an owner to the next', async () => {
    const ownership = await own('a');
    const [taken, waiting] = [await send('a'), await send('b')];
    const { tag, expiresAtMs } = (await read('a', taken))!;
    await takeInSend(stage.space.store, ownership, { tag, nowMs: Date.now() });
    stage.aheadMs = 2_500;
    await start();
    const endMs = (await read('b', waiting))!.expiresAtMs;
    await eventually(async () => (await dueMs('b', waiting)) === endMs, soon);
    expect(await dueMs('a', taken)).to.equal(expiresAtMs);
    expect(stage.jobs).to.deep.equal([]);
  });
});
