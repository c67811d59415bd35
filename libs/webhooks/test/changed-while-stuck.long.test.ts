import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 40 }, (_, i) => `49151123${String(40_000 + i)}`);
const ALONE = ['message.sent'];
const TOGETHER = ['messages.updated'];
const BOTH = [...ALONE, ...TOGETHER];

/** Whom an event tells of, in order. */
const toldIn = ({ data }: GatewayEvent): number[] =>
  ((data.changes as ChangeData[]) ?? [data]).map(({ to }) => PEOPLE.indexOf(to as string));

describe('an endpoint that asks for other types while something is tried in the place of what it refuses', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();

  const of = (shape: 'alone' | 'together') =>
    stage.events
      .filter(({ type }) => (type === 'messages.updated') === (shape === 'together'))
      .flatMap(toldIn)
      .sort((one, other) => one - other);
  const all = [...PEOPLE.keys()];

  /** What is about the first one is refused, until `change` is made: at the first request that is not. */
  const useStuck = async (before: readonly string[], change: 'under way' | 'unanswered', after: readonly string[]) => {
    const run = await create({ types: [...before], gatherSeconds: 1 });
    const isAboutOthers = (event: GatewayEvent) => !toldIn(event).includes(0);
    let isChanged = false;
    const makeChange = async () => {
      isChanged = true;
      await changeWebhook(space.store, 'main', run.id, { settings: { types: [...after] } });
    };
    stage.refuses = (event) => {
      if (!isAboutOthers(event)) return true;
      return change === 'unanswered' ? 0 : false;
    };
    stage.take = async (event) => {
      if (change === 'under way' && !isChanged && isAboutOthers(event)) await makeChange();
    };
    for (const from of [0, 20]) {
      await record(await accept(PEOPLE.slice(from, from + 20)), 'acked', 0, 20);
      stage.aheadMs += 2_000;
      await run();
    }
    for (let second = 0; second < 60 && !isChanged; second += 5) {
      stage.aheadMs += 5_000;
      await run();
      if (change === 'unanswered' && stage.posted.some(isAboutOthers)) await makeChange();
    }
    expect(isChanged).to.equal(true);
    return run;
  };
  const wait = async (run: () => Promise<string>, seconds: number) => {
    for (let second = 0; second < seconds; second += 30) {
      stage.aheadMs += 30_000;
      await run();
    }
  };

  for (const change of ['under way', 'unanswered'] as const) {
    for (const [name, before, after] of [
      ['each change alone, and then all together', ALONE, TOGETHER],
      ['all together, and then each alone', TOGETHER, ALONE],
    ] as const) {
      it(`is told each once: ${name}, while that is ${change}`, async () => {
        const run = await useStuck(before, change, after);
        stage.refuses = () => false;
        await wait(run, 1_200);
        expect([...of('alone'), ...of('together')].sort((one, other) => one - other)).to.deep.equal(all);
      });
    }
    for (const [name, before, after] of [
      ['both, and then all together', BOTH, TOGETHER],
      ['both, and then each alone', BOTH, ALONE],
      ['all together, and then both', TOGETHER, BOTH],
      ['each alone, and then both', ALONE, BOTH],
    ] as const) {
      it(`is told each, and nothing twice in one way: ${name}, while that is ${change}`, async () => {
        const run = await useStuck(before, change, after);
        stage.refuses = () => false;
        await wait(run, 1_200);
        for (const shape of ['alone', 'together'] as const) expect(of(shape)).to.deep.equal([...new Set(of(shape))]);
        expect([...new Set([...of('alone'), ...of('together')])].sort((one, other) => one - other)).to.deep.equal(all);
      });
    }
  }

  it('is told each once also where one of them is refused after it was to be told with others', async () => {
    const run = await useStuck(TOGETHER, 'unanswered', ALONE);
    stage.refuses = (event) => toldIn(event).some((index) => index === 27 || index === 33);
    await wait(run, 1_200);
    stage.refuses = () => false;
    stage.aheadMs += 1_200_000;
    await wait(run, 60);
    expect(of('alone')).to.deep.equal(all);
  });

  for (const [name, before, after, refusal] of [
    ['refused, together, and then alone', TOGETHER, ALONE, true],
    ['refused, alone, and then together', ALONE, TOGETHER, true],
    ['unanswered, together, and then alone', TOGETHER, ALONE, 0],
    ['unanswered, alone, and then together', ALONE, TOGETHER, 0],
  ] as const) {
    it(`is told each once that was put aside before: ${name}`, async () => {
      const run = await create({ types: [...before], gatherSeconds: 1 });
      stage.refuses = (event) => (toldIn(event).some((index) => [3, 7].includes(index)) ? refusal : false);
      for (const from of [0, 20]) {
        await record(await accept(PEOPLE.slice(from, from + 20)), 'acked', 0, 20);
        await wait(run, 300);
      }
      await wait(run, 600);
      const told = of('alone').length + of('together').length;
      expect(told, 'what was one request stays one').to.equal(before === TOGETHER && refusal === 0 ? 20 : 38);
      await changeWebhook(space.store, 'main', run.id, { settings: { types: [...after] } });
      stage.refuses = () => false;
      stage.aheadMs += 1_200_000;
      await wait(run, 60);
      expect([...of('alone'), ...of('together')].sort((one, other) => one - other)).to.deep.equal(all);
    });
  }

  it('is not told once more alone what is put aside together', async () => {
    const run = await create({ types: BOTH, gatherSeconds: 1 });
    stage.refuses = (event) => event.type === 'messages.updated' && toldIn(event).includes(3);
    await record(await accept(PEOPLE), 'acked', 0, 40);
    await wait(run, 900);
    expect([of('alone'), of('together').length]).to.deep.equal([all, 39]);
    await changeWebhook(space.store, 'main', run.id, { settings: { types: ALONE } });
    stage.refuses = () => false;
    stage.aheadMs += 1_200_000;
    await wait(run, 60);
    expect([of('alone'), of('together').length]).to.deep.equal([all, 39]);
  });
});
