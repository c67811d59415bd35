import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { listParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';

const SECOND_MS = 1_000;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('a replay that an endpoint refuses, to which nothing else is told', () => {
  const endpoint = useEndpoint();
  let answer: number | undefined;
  let bad: Set<number>;
  const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);
  const rest = async (seconds: number, step: number) => {
    for (let second = 0; second < seconds; second += step) {
      await endpoint.deliverAll();
      endpoint.nowMs += step * SECOND_MS;
    }
  };
  const requestsIn = async (seconds: number) => {
    const before = endpoint.received.length;
    await rest(seconds, 15 * MINUTE);
    return endpoint.received.length - before;
  };
  const place = () => ({ workspace: 'main', id: endpoint.id });
  const replay = async (ids: readonly string[]) =>
    expect(await replayWebhook(endpoint.space.store, place(), { ids }, endpoint.nowMs)).to.deep.equal({ unknown: [] });
  const replaysLeft = () =>
    endpoint.space.store.redis.llen(workspaceKeys(endpoint.space.store.space, 'main').webhookReplays(endpoint.id));
  const parked = async () =>
    (await listParked(endpoint.space.store, place(), { limit: 9 })).map(({ events }) => events.map(({ id }) => id));
  const requestOf = (number: number) => endpoint.received.find((each) => each.numbers.includes(number))!.id;

  /** Three requests that were taken, of two recipients each. */
  beforeEach(async () => {
    [answer, bad] = [422, new Set()];
    endpoint.keyOf = (number) => `k${number}`;
    for (const first of [0, 2, 4]) {
      await endpoint.write(first, first + 1);
      await endpoint.deliverAll();
    }
    endpoint.told.length = 0;
    endpoint.answer = (_request, res) => {
      if (!endpoint.received.at(-1)!.numbers.some((number) => bad.has(number))) return 204;
      if (answer === undefined) res.destroy();
      return answer;
    };
  });

  for (const order of ['recipient', 'strict'] as const) {
    for (const [how, status] of [
      ['with 422', 422],
      ['with silence', undefined],
    ] as const) {
      describe(`${how}, where the order is by ${order}`, () => {
        beforeEach(async () => {
          if (order === 'strict')
            await changeWebhook(endpoint.space.store, 'main', endpoint.id, { settings: { order } });
          [answer, bad] = [status, new Set(numbers(2))];
          await replay([requestOf(0)]);
        });

        it('does not delay what happens then', async () => {
          await rest(7 * MINUTE, 5);
          expect(endpoint.received.length, 'by now it was refused often').to.be.above(6);
          await endpoint.write(10);
          await endpoint.deliverAll();
          expect(endpoint.told).to.deep.equal([10]);
        });

        it('is a hundred requests a day, for three days, or six where its parts are tried; then it is over', async () => {
          expect(await requestsIn(DAY)).to.be.within(80, 110);
          expect(await requestsIn(5.5 * DAY)).to.be.within(150, 6 * 100);
          expect([await requestsIn(DAY), await replaysLeft(), await parked()]).to.deep.equal([0, 0, []]);
          expect(await endpoint.status()).to.equal('active');
          await endpoint.write(10);
          await endpoint.deliverAll();
          expect(endpoint.told).to.deep.equal([10]);
        });
      });
    }
  }

  it('is put aside, when something else is taken, and not before', async () => {
    bad = new Set(numbers(2));
    await replay([requestOf(0)]);
    await rest(HOUR, 30);
    expect(await parked()).to.deep.equal([]);
    await endpoint.write(10);
    await rest(20 * MINUTE, 30);
    expect(await parked()).to.deep.equal([['0'], ['1']]);
    expect(await replaysLeft()).to.equal(0);
    bad.clear();
    await rest(HOUR, 30);
    expect(endpoint.told).to.deep.equal([10, 0, 1]);
  });

  it('is passed by what comes behind it within 90 s, if that is taken, and is put aside', async () => {
    endpoint.isAlone = true;
    bad = new Set([0]);
    const range = { afterMs: endpoint.nowMs - HOUR * SECOND_MS, beforeMs: endpoint.nowMs + HOUR * SECOND_MS };
    await replayWebhook(endpoint.space.store, place(), range, endpoint.nowMs);
    await rest(95, 5);
    expect(endpoint.told).to.have.members(numbers(5, 1));
    expect([await parked(), await endpoint.status()]).to.deep.equal([[['0']], 'active']);
  });

  it('comes again as it was after an outage, with all that is behind it, and nothing of it was put aside', async () => {
    for (const status of [503, undefined]) {
      [answer, bad] = [status, new Set(numbers(6))];
      await replay([0, 2, 4].map(requestOf));
      await rest(6 * HOUR, MINUTE);
      expect([await parked(), await endpoint.status(), endpoint.told]).to.deep.equal([[], 'active', []]);
      bad.clear();
      await rest(20 * MINUTE, MINUTE);
      expect(endpoint.told).to.have.members(numbers(6));
      endpoint.told.length = 0;
    }
  });

  it('waits as long as its endpoint asks for (Retry-After)', async () => {
    const times: number[] = [];
    endpoint.answer = (_request, res) => {
      times.push(endpoint.nowMs);
      res.setHeader('retry-after', 40 * MINUTE);
      return 429;
    };
    await replay([requestOf(0)]);
    await rest(5 * HOUR, 30);
    expect(times).to.have.length.within(6, 8);
    for (const [i, ms] of times.slice(1).entries()) expect(ms - times[i]!).to.be.at.least(40 * MINUTE * SECOND_MS);
  });

  it('is tried at once when its endpoint passes a test', async () => {
    bad = new Set(numbers(2));
    await replay([requestOf(0)]);
    await rest(HOUR, 30);
    bad.clear();
    await endpoint.deliverAll();
    expect(endpoint.told, 'its time has not come').to.deep.equal([]);
    await endpoint.passTest();
    await endpoint.deliverAll();
    expect(endpoint.told).to.deep.equal(numbers(2));
  });

  it('ends all where its endpoint says that it is gone', async () => {
    [answer, bad] = [410, new Set([0])];
    await replay([requestOf(0)]);
    await endpoint.deliverAll();
    expect(await endpoint.status()).to.equal('disabled');
  });

  it('waits for the clock of an endpoint that fails anyway', async () => {
    [answer, bad] = [503, new Set(numbers(11))];
    await endpoint.write(10);
    await rest(MINUTE, 5);
    await replay([requestOf(0)]);
    expect(await requestsIn(DAY)).to.be.within(80, 110);
    expect(await endpoint.status()).to.equal('failing');
  });
});
