import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import type { SendTag } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { eventually } from '@gateway/testkit/eventually';
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

describe('an endpoint that refuses a gap while something that is told alone is soon put aside', () => {
  const { space, address, stage, create, accept, record } = useLoggedEndpoint();

  it('is told of the next one, which has grown since, as well', async () => {
    const run = await create({ types: [SENT], concurrency: 2 });
    const wait = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 5) {
        stage.aheadMs += 5_000;
        await run();
      }
    };
    const sendTo = async (person: string) => {
      const tag = await accept([person]);
      await record(tag, 'acked', 0, 1);
      return tag;
    };
    const forget = (tag: SendTag) => space.store.redis.del(sendKeys(space, address, tag).record);
    stage.refuses = ({ data }) => data.to === REFUSED;
    await sendTo(REFUSED);
    await wait(30);
    await sendTo('491511230008');
    await wait(30);
    const tags: SendTag[] = [];
    for (const person of PEOPLE) tags.push(await sendTo(person));
    await forget(tags[1]!);
    const isGap = ({ type }: GatewayEvent) => type === 'events.gap';
    let hasGrown = false;
    stage.refuses = (event) => event.data.to === REFUSED || (isGap(event) && !hasGrown);
    stage.take = async ({ data }) => {
      if (data.to !== PEOPLE[0] || hasGrown) return;
      await eventually(() => stage.posted.some(isGap));
      await forget(tags[2]!);
      hasGrown = true;
    };
    await wait(4_000);
    const missing = stage.events.filter(isGap).map(({ data }) => Number(data.missing));
    expect(missing.reduce((sum, each) => sum + each, 0)).to.be.at.least(2);
  });
});
