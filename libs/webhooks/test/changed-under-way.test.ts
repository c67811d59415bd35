import type { ChangeData } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { defer } from '@gateway/runtime/deferred';
import type { LaneState } from '@gateway/store/webhooks/delivering/lanes';
import { pauseWebhook, resumeWebhook } from '@gateway/store/webhooks/webhooks';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 40 }, (_, i) => `49151123${String(40_000 + i)}`);

describe('an endpoint that is paused while a request of it is under way', () => {
  const { space, stage, create, accept, record, relay } = useLoggedEndpoint();

  it('is not told again what it refused before, when the time of that has come', async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated'] });
    const { redis, space: keys } = space.store;
    const ofPrompt = async () =>
      JSON.parse((await redis.hget(workspaceKeys(keys, 'main').webhook(run.id), 'lane:prompt')) ?? '{}') as LaneState;
    await record(await accept(PEOPLE.slice(0, 2)), 'acked', 0, 2);
    const list = await accept(PEOPLE.slice(10));
    await record(list, 'acked', 0, 30);
    const asked = { lists: 0, prompt: 0 };
    const laneOf = (data: Record<string, unknown>) => ((data.changes as ChangeData[]).length > 2 ? 'lists' : 'prompt');
    stage.refuses = ({ data }) => laneOf(data) === 'prompt';
    const steps = [
      // What is taken beside it says that the endpoint is well, and what was refused has its own time.
      async () => {
        await eventually(async () => (await ofPrompt()).claim?.notBeforeMs);
        await record(list, 'delivered', 0, 30);
        stage.aheadMs += 2_000;
        await relay();
      },
      async () => {
        await pauseWebhook(space.store, 'main', run.id);
        stage.aheadMs += 10_000;
        const looks = () => redis.info('commandstats').then((stats) => /cmdstat_hmget:calls=(\d+)/.exec(stats)?.[1]);
        const before = await looks();
        await eventually(async () => (await looks()) !== before);
      },
    ];
    stage.take = async ({ data }) => {
      const lane = laneOf(data);
      asked[lane]++;
      if (lane === 'lists') await steps[asked.lists - 1]!();
    };
    stage.aheadMs += 2_000;
    await run();
    expect(asked).to.deep.equal({ prompt: 1, lists: 2 });
  });

  it('is told no more of what has requests of its own, and after that the rest, each once', async () => {
    const run = await create({ types: ['message.sent'], concurrency: 2 });
    await record(await accept(PEOPLE.slice(0, 10)), 'acked', 0, 10);
    let paused: Promise<unknown> | undefined;
    stage.take = async () => {
      paused ??= pauseWebhook(space.store, 'main', run.id);
      await paused;
    };
    await run();
    expect(stage.posted.length, 'what was under way').to.be.within(1, 2);
    await resumeWebhook(space.store, 'main', run.id);
    await run();
    const told = stage.events.map(({ data }) => Number(data.index)).sort((one, other) => one - other);
    expect(told).to.deep.equal([...Array(10).keys()]);
  });

  it('is told no more of what waits for a place that another lane has', async () => {
    const run = await create({ types: ['message.sent'], concurrency: 2, gatherSeconds: 1 });
    await record(await accept(PEOPLE.slice(10)), 'acked', 0, 30);
    await record(await accept(PEOPLE.slice(0, 5)), 'acked', 0, 5);
    const paused = defer<unknown>();
    let underWay = 0;
    stage.take = async () => {
      // One of each lane, and one beside them.
      if (++underWay === 3) paused.resolve(await pauseWebhook(space.store, 'main', run.id));
      await paused.promise;
    };
    stage.aheadMs += 2_000;
    await run();
    expect(stage.posted).to.have.length(3);
    await resumeWebhook(space.store, 'main', run.id);
    await run();
    expect(stage.events).to.have.length(35);
  });
});
