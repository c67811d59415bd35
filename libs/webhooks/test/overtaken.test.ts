import { defer } from '@gateway/runtime/deferred';
import { endSessions } from '@gateway/store/webhooks/delivering/owners';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

describe('a process that stood still until another one has taken its endpoint', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();

  it('begins no further request of what it had claimed: of each recipient the other one tells all, in order', async () => {
    const run = await create({ types: ['message.sent', 'message.delivered', 'message.read'], concurrency: 2 });
    const tag = await accept(['4915112340001']);
    await record(tag, 'acked', 0, 1);
    await record(tag, 'delivered', 0, 1);
    const [stopped, goesOn] = [defer<void>(), defer<void>()];
    stage.take = async () => {
      stopped.resolve();
      if (stage.posted.length === 0) await goesOn.promise;
    };
    const first = run();
    await stopped.promise;
    // Its session runs out.
    await endSessions(space.store, 'process-1');
    await record(tag, 'read', 0, 1);
    stage.take = async () => {};
    await run.as('process-2');
    goesOn.resolve();
    expect(await first).to.equal('taken');
    const told = stage.events.map(({ data }) => data.status);
    expect(told).to.deep.equal(['sent', 'delivered', 'read', 'sent']);
  });
});
