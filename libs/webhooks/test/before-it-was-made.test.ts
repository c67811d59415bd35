import { openEvents } from '@gateway/store/events/open-events';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = ['4915112340000', '4915112340001', '4915112340002'];

describe('what happened before a webhook was made', () => {
  const { space, stage, create, accept, record, rows } = useLoggedEndpoint();
  const told = () => rows().map((changes) => changes.map(({ index }) => index));

  it('is not told where it lay in an outbox until then, unless its time is asked for', async () => {
    await openEvents(space.store, 'main');
    const tag = await accept(PEOPLE);
    stage.aheadMs = -60_000;
    await record(tag, 'acked', 0, 2);
    stage.aheadMs = 0;
    const run = await create();
    await record(tag, 'acked', 2, 3);
    await run();
    expect(told()).to.deep.equal([[2]]);
    const nowMs = Date.now();
    const times = { afterMs: nowMs - 120_000, beforeMs: nowMs - 30_000 };
    await replayWebhook(space.store, { workspace: 'main', id: run.id }, times, nowMs);
    await run();
    expect(told()).to.deep.equal([[2], [0, 1]]);
  });
});
