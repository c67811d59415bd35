import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 12 }, (_, i) => `49151123${String(40_000 + i)}`);
const REFUSED = PEOPLE[0]!;
const ANOTHER = '447700900001';
const STEP_S = 5;

const rowsOf = ({ data }: GatewayEvent) => (data.changes ?? [data]) as ChangeData[];

describe('a recipient whom an endpoint refuses, in a list and then in a small send', () => {
  const { stage, create, accept, record } = useLoggedEndpoint();
  for (const type of ['messages.updated', 'message.sent']) {
    it(`holds up the others of both lanes for 90 s at most: ${type}`, async () => {
      const run = await create({ types: [type], gatherSeconds: 1 });
      let refusals = 0;
      const told = new Set<string>();
      stage.refuses = (event) => {
        const rows = rowsOf(event);
        const isRefused = rows.some(({ to }) => to === REFUSED);
        if (isRefused) refusals++;
        else for (const { to } of rows) told.add(to!);
        return isRefused;
      };
      await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
      stage.aheadMs += 2_000;
      await run();
      stage.aheadMs += STEP_S * 1_000;
      await run();
      expect(refusals, 'the list is refused twice').to.equal(2);
      await record(await accept([REFUSED]), 'acked', 0, 1);
      await record(await accept([ANOTHER]), 'acked', 0, 1);
      const others = [...PEOPLE.slice(1), ANOTHER];
      let seconds = 0;
      while (!others.every((each) => told.has(each)) && seconds < 600) {
        stage.aheadMs += STEP_S * 1_000;
        seconds += STEP_S;
        // All the while something happens to other people, too.
        await record(await accept([`4477009${String(10_000 + seconds)}`]), 'acked', 0, 1);
        await run();
      }
      expect(seconds).to.be.at.most(90);
    });
  }
});
