import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const SENT = 'message.sent';
const DELIVERED = 'message.delivered';
const TOGETHER = 'messages.updated';
const PEOPLE = ['491511230001', '491511230002', '491511230003', '491511230004'];
const REFUSED = '491511230009';

const rowsOf = ({ data }: GatewayEvent) => (data.changes ?? [data]) as ChangeData[];

describe('an endpoint that asks for other types while something that is told alone is soon put aside', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();

  const told = () => [
    ...new Set(
      stage.events
        .flatMap(rowsOf)
        .filter(({ to }) => PEOPLE.includes(to!))
        .map(({ index, status }) => `${index} ${status}`),
    ),
  ];
  const wait = async (run: () => Promise<string>, seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      stage.aheadMs += 5_000;
      await run();
    }
  };
  const all = PEOPLE.flatMap((_, i) => [`${i} delivered`, `${i} sent`]).sort();

  for (const concurrency of [1, 5]) {
    it(`is told all that follows for those of whom something was taken, and who were refused (${concurrency})`, async () => {
      const run = await create({ types: [SENT, DELIVERED], concurrency, gatherSeconds: 1 });
      stage.refuses = (event) => rowsOf(event).some(({ to }) => to === REFUSED);
      await record(await accept([REFUSED]), 'acked', 0, 1);
      await wait(run, 30);
      await record(await accept(['491511230008']), 'acked', 0, 1);
      await wait(run, 30);
      expect(stage.events, 'all but the one').to.have.length(1);

      stage.refuses = () => 500;
      const tag = await accept(PEOPLE);
      await record(tag, 'acked', 0, PEOPLE.length);
      await record(tag, 'delivered', 0, PEOPLE.length);
      await run();
      await changeWebhook(space.store, 'main', run.id, { settings: { types: [TOGETHER, SENT] } });
      stage.refuses = (event) => event.type === SENT && rowsOf(event).some(({ to }) => to === PEOPLE.at(-1));
      await wait(run, 120);
      stage.refuses = () => false;
      await wait(run, 2_000);
      expect(told().sort()).to.deep.equal(all);
    });
  }
});
