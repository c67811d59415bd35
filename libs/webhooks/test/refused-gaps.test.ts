import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { listParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;

describe('that something is lost of what is put aside, where an endpoint refuses to be told of it', () => {
  const endpoint = useEndpoint();
  let refuses: Set<number>;
  let refusesGaps: boolean;
  const isGap = ({ body }: { body: string }) => body.includes('lost');
  const gaps = () => endpoint.received.filter(isGap);
  const rest = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      await endpoint.deliverAll();
      endpoint.nowMs += MINUTE_MS;
    }
  };
  const lose = async (place: number) => {
    const { store, prefix } = endpoint.space;
    const rows = await store.redis.xrange(`${prefix}:log`, '-', '+');
    await store.redis.xdel(`${prefix}:log`, rows[place]![0]);
  };
  const webhook = () => workspaceKeys(endpoint.space.store.space, 'main').webhook(endpoint.id);
  const parkedState = async () => JSON.parse((await endpoint.space.store.redis.hget(webhook(), 'lane:parked'))!);
  const lost = async () => Number(await endpoint.space.store.redis.hget(webhook(), 'parkedLost'));

  /** 3 and 4 are put aside, in two entries of the log, and the first of these is gone. */
  beforeEach(async () => {
    [refuses, refusesGaps] = [new Set([3, 4]), true];
    endpoint.keyOf = (number) => `k${number}`;
    endpoint.answer = () => {
      const last = endpoint.received.at(-1)!;
      return (refusesGaps && isGap(last)) || last.numbers.some((number) => refuses.has(number)) ? 422 : 204;
    };
    await endpoint.write(0, 1, 3);
    await endpoint.write(2, 4);
    await endpoint.write(5, 6);
    await rest(2);
    await endpoint.write(7, 8);
    await rest(10);
    const parked = await listParked(endpoint.space.store, { workspace: 'main', id: endpoint.id }, { limit: 9 });
    expect(parked.map(({ key }) => key)).to.have.members(['k3', 'k4']);
    await lose(0);
    await rest(20);
    expect(gaps()).to.have.length.above(0);
  });

  it('holds up nothing else that is put aside', async () => {
    refuses.clear();
    await rest(HOUR_MINUTES);
    expect(endpoint.told).to.include(4);
  });

  it('is a hundred requests a day, with all that is put aside, as long as nothing is taken', async () => {
    const before = endpoint.received.length;
    await rest(24 * HOUR_MINUTES);
    const since = endpoint.received.slice(before);
    expect(since).to.have.length.within(80, 110);
    expect(since.filter(isGap), 'in turn').to.have.length.within(30, 70);
    expect(await endpoint.status()).to.equal('active');
  });

  it('comes again as it was, whatever is told and lost meanwhile, and all that is lost is told once', async () => {
    await lose(0);
    await rest(HOUR_MINUTES);
    await endpoint.write(9);
    refuses.clear();
    await rest(HOUR_MINUTES);
    expect([await lost(), new Set(gaps().map(({ id }) => id)).size]).to.deep.equal([2, 1]);
    refusesGaps = false;
    const before = gaps().length;
    await rest(HOUR_MINUTES);
    const told = gaps().slice(before);
    expect(told.map(({ body }) => JSON.parse(body).lost)).to.deep.equal([1, 1]);
    expect(new Set(told.map(({ id }) => id)).size).to.equal(2);
    expect([await lost(), (await parkedState()).gap]).to.deep.equal([0, undefined]);
  });

  it('waits as long as its endpoint asks for (Retry-After)', async () => {
    const times: number[] = [];
    endpoint.answer = (_request, res) => {
      if (!isGap(endpoint.received.at(-1)!)) return 204;
      times.push(endpoint.nowMs);
      res.setHeader('retry-after', 40 * HOUR_MINUTES);
      return 429;
    };
    await rest(5 * HOUR_MINUTES);
    expect(times).to.have.length.within(6, 8);
    for (const [i, ms] of times.slice(1).entries()) expect(ms - times[i]!).to.be.at.least(40 * MINUTE_MS);
  });

  it('is told at once when its endpoint passes a test', async () => {
    refuses.clear();
    await rest(HOUR_MINUTES);
    const { gap } = await parkedState();
    endpoint.nowMs = gap.nextAttemptMs - SECOND_MS;
    refusesGaps = false;
    await endpoint.deliverAll();
    expect(await lost(), 'its time has not come').to.equal(1);
    await endpoint.passTest();
    await endpoint.deliverAll();
    expect(await lost()).to.equal(0);
  });

  it('is not made due while something else is posted, which comes once', async () => {
    refuses.clear();
    const before = endpoint.received.length;
    endpoint.answer = (_request, res) => {
      if (isGap(endpoint.received.at(-1)!)) return 422;
      void endpoint.passTest().then(() => res.writeHead(204).end());
      return undefined;
    };
    await rest(HOUR_MINUTES);
    expect(endpoint.received.slice(before).flatMap(({ numbers }) => numbers)).to.deep.equal([4]);
  });

  it('is told anew where the version before has told what waited, and something is lost since', async () => {
    refuses.clear();
    refusesGaps = false;
    const gap = { lost: 5, atMs: 1, failures: 9, nextAttemptMs: endpoint.nowMs + HOUR_MINUTES * MINUTE_MS };
    const since = { 'lane:parked': JSON.stringify({ gap }), parkedLost: 2, breaker: '{}' };
    await endpoint.space.store.redis.hset(webhook(), since);
    await endpoint.deliverAll();
    expect(gaps().at(-1)!.body).to.equal(JSON.stringify({ lost: 2, atMs: endpoint.nowMs }));
    expect(await lost()).to.equal(0);
  });
});
