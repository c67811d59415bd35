import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 100 }, (_, i) => `49151123${String(40_000 + i)}`);

describe('a Redis that has lost its last second', () => {
  const { space, stage, create, accept, record, rows } = useLoggedEndpoint();

  /** What is known of an endpoint, to be put back later. */
  async function keep(id: string): Promise<() => Promise<unknown>> {
    const { redis } = space.store;
    const key = workspaceKeys(space, 'main').webhook(id);
    const state = await redis.dumpBuffer(key);
    return () => redis.restore(key, 0, state!, 'REPLACE');
  }

  for (const [lane, size] of [
    ['lists', 50],
    ['prompt', 10],
  ] as const) {
    it(`is told nothing in other words: requests in which ${lane} were told come again as they were`, async () => {
      const run = await create({ gatherSeconds: 1, types: ['messages.updated'] });
      const tag = await accept(PEOPLE.slice(0, size));
      const tell = async (event: 'acked' | 'delivered' | 'read', from: number, to: number) => {
        await record(tag, event, from, to);
        stage.aheadMs += 2_000;
        await run();
      };
      await tell('acked', 0, 5);
      const putBack = await keep(run.id);
      await tell('delivered', 0, 3);
      await tell('acked', 5, 8);
      const before = stage.posted.map((event) => JSON.stringify(event));
      expect(before).to.have.length(3);
      await putBack();
      await tell('read', 0, 5);
      const again = stage.posted.slice(3).map((event) => JSON.stringify(event));
      expect(again.slice(0, 2)).to.deep.equal(before.slice(1));
      expect(again, 'and what is new').to.have.length(3);
      const ids = new Set(
        rows()
          .flat()
          .map(({ id }) => id),
      );
      expect(ids.size).to.equal(5 + 3 + 3 + 5);
    });
  }
});
