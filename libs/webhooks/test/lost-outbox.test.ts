import { eventSchema } from '@gateway/contracts/events/events';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { mendEvents } from '@gateway/store/events/open-events';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

describe('an outbox that Redis has lost, told to a webhook', () => {
  const { space, stage, relay, create } = useLoggedEndpoint();

  it('is a gap of which no one knows how much it is, in one lane, whatever the endpoint asks for; the log is all there', async () => {
    const run = await create({ types: ['send.finished'] });
    await space.store.redis.del(shardKeys(space, 7).outbox('main'));
    await mendEvents(space.store, 'main');
    await relay();
    await run();
    await run();
    expect(stage.events.map(({ type, data }) => [type, data])).to.deep.equal([['events.gap', { missing: null }]]);
    for (const event of stage.events) expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
    expect(stage.gaps).to.deep.equal([]);
  });
});
