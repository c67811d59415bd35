import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { defer } from '@gateway/runtime/deferred';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 50 }, (_, i) => `49151123${String(40_000 + i)}`);
const FIRST_DELAY_MS = 5_000;
const HOUR_SECONDS = 3_600;

const changesIn = ({ data }: GatewayEvent): readonly ChangeData[] => (data.changes as ChangeData[] | undefined) ?? [];

describe('the one clock of an endpoint that fails', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();
  type Run = Awaited<ReturnType<typeof create>>;
  /** One request for each lane, which are under way together: the lists' ends when the other one was answered. */
  const useBothLanes = async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated'] });
    await record(await accept(PEOPLE.slice(0, 20)), 'acked', 0, 20);
    await record(await accept(PEOPLE.slice(0, 2)), 'acked', 0, 2);
    const [began, goesOn] = [defer<void>(), defer<void>()];
    stage.take = (event) => {
      if (changesIn(event).length === 2) return began.promise;
      began.resolve();
      return goesOn.promise;
    };
    stage.aheadMs += 2_000;
    const told = run();
    while ((await readBreaker(run)).failures === undefined) await new Promise(setImmediate);
    goesOn.resolve();
    await told;
    expect(stage.posted).to.have.length(2);
    return run;
  };
  const readBreaker = async ({ id }: Run) =>
    JSON.parse((await space.store.redis.hget(workspaceKeys(space, 'main').webhook(id), 'breaker')) ?? '{}');
  const nextInMs = async (run: Run) => (await readBreaker(run)).nextAttemptMs - Date.now() - stage.aheadMs;
  const wait = async (run: Run, seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      stage.aheadMs += 5_000;
      await run();
    }
  };

  it('goes on once for requests that fail together', async () => {
    stage.status = 503;
    const run = await useBothLanes();
    expect(await readBreaker(run)).to.include({ failures: 1 });
    expect(await nextInMs(run)).to.be.at.most(FIRST_DELAY_MS);
  });

  it('keeps what one lane was asked for (Retry-After), whatever the other one is answered meanwhile', async () => {
    stage.status = 429;
    stage.asksFor = (event) => (changesIn(event).length === 2 ? HOUR_SECONDS : 0);
    const run = await useBothLanes();
    expect(await nextInMs(run)).to.be.within((HOUR_SECONDS - 60) * 1000, HOUR_SECONDS * 1000);
  });

  it('keeps the longest that was asked for by answers that come together', async () => {
    const run = await create({ types: ['message.sent'], concurrency: 2 });
    await record(await accept(PEOPLE.slice(0, 2)), 'acked', 0, 2);
    stage.status = 429;
    stage.asksFor = ({ data }) => (data.index === 1 ? HOUR_SECONDS : 0);
    const first = defer<void>();
    stage.take = async ({ data }) => {
      if (data.index === 1) await first.promise;
      else setImmediate(first.resolve);
    };
    await run();
    expect(stage.posted).to.have.length(2);
    expect(await nextInMs(run)).to.be.within((HOUR_SECONDS - 60) * 1000, HOUR_SECONDS * 1000);
  });

  it('is asked for time also by what is too large now: its halves wait as well', async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated'] });
    await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
    stage.refuses = (event) => (changesIn(event).length > 12 ? 413 : false);
    stage.asksFor = () => (stage.posted.length === 1 ? HOUR_SECONDS : 0);
    await wait(run, HOUR_SECONDS - 60);
    expect(stage.posted).to.have.length(1);
    await wait(run, 120);
    expect(stage.events.flatMap(changesIn).map(({ to }) => to)).to.deep.equal(PEOPLE);
  });

  it('ends with the first answer that it is gone, also where another came before', async () => {
    const run = await create({ types: ['message.sent'], concurrency: 2 });
    await record(await accept(PEOPLE.slice(0, 2)), 'acked', 0, 2);
    const first = defer<void>();
    stage.refuses = ({ data }) => (data.index === 1 ? 410 : 503);
    stage.take = async ({ data }) => {
      if (data.index === 1) await first.promise;
      else setImmediate(first.resolve);
    };
    await run();
    expect(await space.store.redis.hget(workspaceKeys(space, 'main').webhook(run.id), 'status')).to.equal('disabled');
  });
});
