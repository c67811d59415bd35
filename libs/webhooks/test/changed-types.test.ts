import type { ChangeData } from '@gateway/contracts/events/events';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${String(40_000 + i)}`);
const ALONE = ['message.sent'];
const TOGETHER = ['messages.updated'];

describe('an endpoint that asks for other types in the middle of what one step has changed', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();

  /** Ids of what was told of the recipients, in order. */
  const told = () =>
    stage.events.flatMap(({ type, data }) =>
      type === 'messages.updated' ? (data.changes as ChangeData[]).map(({ index }) => index) : [data.index as number],
    );

  for (const [what, before, after, concurrency] of [
    ['each change alone, and then all together', ALONE, TOGETHER, 1],
    ['several at a time alone, and then all together', ALONE, TOGETHER, 4],
    ['all together, and then each alone', TOGETHER, ALONE, 1],
  ] as const) {
    it(`is told each once: ${what}`, async () => {
      const run = await create({ types: [...before], gatherSeconds: 1, concurrency });
      const tag = await accept(PEOPLE);
      let requests = 0;
      stage.refuses = () => before === TOGETHER || requests++ >= 3;
      await record(tag, 'acked', 0, 20);
      stage.aheadMs += 2_000;
      await run();
      expect(told()).to.have.length(before === ALONE ? 3 : 0);
      expect(stage.posted.length, 'one of them is refused').to.be.above(told().length);
      await changeWebhook(space.store, 'main', run.id, { settings: { types: [...after] } });
      stage.refuses = () => false;
      stage.aheadMs += 60_000;
      await run();
      expect(told().sort((one, other) => one - other)).to.deep.equal([...PEOPLE.keys()]);
    });
  }
});
