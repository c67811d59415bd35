import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { readParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const STEP_SECONDS = 5;

describe('what an endpoint answers with silence again and again', () => {
  const endpoint = useEndpoint();
  const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);
  const place = () => ({ workspace: 'main', id: endpoint.id });
  const rest = async (seconds: number) => {
    for (let second = 0; second < seconds; second += STEP_SECONDS) {
      await endpoint.deliverAll();
      endpoint.nowMs += STEP_SECONDS * SECOND_MS;
    }
  };
  /** It resets connections that bring one of these; others it takes. */
  const reset = (...bad: number[]) => {
    endpoint.answer = (_request, res) => {
      if (!endpoint.received.at(-1)!.numbers.some((number) => bad.includes(number))) return 204;
      res.destroy();
      return undefined;
    };
  };
  const parked = async (keys: readonly string[]) => {
    const found = await readParked(endpoint.space.store, place(), keys);
    return found.map(({ key, events }) => `${key}: ${events.map(({ id }) => id).join()}`);
  };
  const requestsWith = (number: number) => endpoint.received.filter((each) => each.numbers.includes(number));

  const looks = async () => {
    const stats = await endpoint.space.clients.commands.info('commandstats');
    return Number(/^cmdstat_zrange:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
  };

  beforeEach(() => {
    endpoint.keyOf = (number) => `k${number % 100}`;
  });

  it('is put aside within two minutes if what comes behind it is taken, and the endpoint stays active', async () => {
    endpoint.isAlone = true;
    reset(2);
    for (const number of numbers(4, 1)) await endpoint.write(number);
    await rest(120);
    expect(endpoint.told).to.deep.equal([1, 3, 4]);
    expect(await parked(['k2', 'k3'])).to.deep.equal(['k2: 2']);
    // What follows for the same person waits.
    await endpoint.write(102);
    await endpoint.write(5);
    for (let hour = 0; hour < 80; hour++) {
      endpoint.nowMs += HOUR_MS;
      await endpoint.deliverAll();
    }
    expect(endpoint.told).to.deep.equal([1, 3, 4, 5]);
    expect(await endpoint.status()).to.equal('active');
    const before = endpoint.received.length;
    endpoint.nowMs += HOUR_MS;
    await endpoint.deliverAll();
    expect(endpoint.received.length - before, 'after 72 hours').to.equal(0);
    reset();
    await replayWebhook(endpoint.space.store, place(), { ids: ['2'] }, endpoint.nowMs);
    await endpoint.deliverAll();
    expect(endpoint.told).to.deep.equal([1, 3, 4, 5, 2, 102]);
  });

  it('is put aside also where several come one after the other', async () => {
    endpoint.isAlone = true;
    reset(1, 2, 3);
    for (const number of numbers(6)) await endpoint.write(number);
    await rest(300);
    expect(endpoint.told.sort()).to.deep.equal([0, 4, 5]);
    expect(await parked(['k1', 'k2', 'k3'])).to.deep.equal(['k1: 1', 'k2: 2', 'k3: 3']);
    expect(await endpoint.status()).to.equal('active');
  });

  it('is tried again without a look at all else that is put aside, where it was an event alone', async () => {
    endpoint.isAlone = true;
    reset(1);
    for (const number of numbers(3)) await endpoint.write(number);
    await rest(120);
    expect(await parked(['k1'])).to.deep.equal(['k1: 1']);
    const before = { looks: await looks(), requests: endpoint.received.length };
    await rest(600);
    expect(endpoint.received.length).to.be.above(before.requests);
    expect(await looks()).to.equal(before.looks);
  });

  it('is tried again without a look at all else that is put aside, also where it was about many', async () => {
    reset(3);
    await endpoint.write(...numbers(50));
    await rest(10);
    await endpoint.write(...numbers(10, 50));
    await rest(120);
    expect(await parked(['k3', 'k49', 'k50'])).to.deep.equal(['k3: 3', 'k49: 49']);
    const isTriedAgain = async () => {
      const before = { looks: await looks(), requests: requestsWith(3).length };
      await rest(1_800);
      expect(requestsWith(3).length).to.be.above(before.requests);
      return (await looks()) - before.looks;
    };
    expect(await isTriedAgain()).to.equal(0);
    // As it goes where there is no room.
    const { redis } = endpoint.space.store;
    const { webhookParked, webhookParkedDue, webhookParkedSince } = workspaceKeys(endpoint.space.store.space, 'main');
    await redis.hdel(webhookParked(endpoint.id), 'k0');
    for (const key of [webhookParkedDue(endpoint.id), webhookParkedSince(endpoint.id)]) await redis.zrem(key, 'k0');
    expect(await isTriedAgain(), 'once').to.be.within(1, 2);
    expect(await isTriedAgain()).to.equal(0);
    expect(requestsWith(3).at(-1)!.numbers).to.deep.equal(numbers(49, 1));
  });

  it('comes again as it was: under its id, with all that was in it, and never in parts', async () => {
    reset(3);
    await endpoint.write(...numbers(50), 103);
    await rest(10);
    await endpoint.write(...numbers(10, 50), 109);
    await rest(600);
    expect(endpoint.told, 'what is about others').to.deep.equal(numbers(10, 50));
    expect(new Set(requestsWith(3).map(({ id }) => id)).size).to.equal(1);
    expect(requestsWith(109), 'it waits behind 9').to.deep.equal([]);
    // That one of it is asked for by its id changes nothing.
    await replayWebhook(endpoint.space.store, place(), { ids: ['4'] }, endpoint.nowMs);
    await rest(10);
    expect(new Set(requestsWith(4).map(({ id }) => id)).size).to.equal(1);
    reset();
    endpoint.nowMs += HOUR_MS;
    await rest(10);
    expect(endpoint.told).to.deep.equal([...numbers(10, 50), ...numbers(50), 103, 109]);
  });

  it('is told after days, when some of it is asked for by its id, and so is what came behind the rest of it', async () => {
    reset(3);
    await endpoint.write(...numbers(5));
    await rest(10);
    await endpoint.write(10);
    await rest(120);
    await endpoint.write(101);
    for (let hour = 0; hour < 80; hour++) {
      endpoint.nowMs += HOUR_MS;
      await endpoint.deliverAll();
    }
    reset();
    await replayWebhook(endpoint.space.store, place(), { ids: ['4'] }, endpoint.nowMs);
    await rest(10);
    expect(endpoint.told).to.deep.equal([10, ...numbers(5), 101]);
  });

  it('is not repeated beside the rest of what is put aside: that is told meanwhile', async () => {
    endpoint.answer = (_request, res) => {
      const last = endpoint.received.at(-1)!.numbers;
      if (last.includes(3)) return 422;
      if (!last.includes(103)) return 204;
      res.destroy();
      return undefined;
    };
    await endpoint.write(...numbers(10));
    await endpoint.write(...numbers(10, 50));
    await rest(60);
    await endpoint.write(103, 104);
    await rest(60);
    endpoint.answer = (_request, res) => {
      if (!endpoint.received.at(-1)!.numbers.includes(103)) return 204;
      res.destroy();
      return undefined;
    };
    endpoint.nowMs += HOUR_MS;
    await rest(60);
    expect(await parked(['k3'])).to.deep.equal(['k3: 103']);
    expect(endpoint.told).to.include.members([3, 104]);
    expect(await endpoint.status()).to.equal('active');
    endpoint.answer = () => 204;
    endpoint.nowMs += HOUR_MS;
    await rest(10);
    expect(endpoint.told.filter((number) => number % 100 === 3)).to.deep.equal([3, 103]);
  });

  it('holds up what follows while nothing else is taken: then it is the endpoint that is down', async () => {
    endpoint.answer = (_request, res) => void res.destroy();
    await endpoint.write(...numbers(10));
    await endpoint.write(...numbers(10, 10));
    await rest(2 * 3_600);
    expect(await endpoint.status()).to.equal('failing');
    expect(await parked(numbers(20).map((number) => `k${number}`))).to.deep.equal([]);
    expect(endpoint.received.length).to.be.below(20);
    reset();
    endpoint.nowMs += HOUR_MS;
    await rest(10);
    expect(endpoint.told.sort((one, other) => one - other)).to.deep.equal(numbers(20));
  });

  it('holds up all that follows where the order is strict', async () => {
    await changeWebhook(endpoint.space.store, 'main', endpoint.id, { settings: { order: 'strict' } });
    reset(0);
    await endpoint.write(0);
    await endpoint.write(1);
    await rest(600);
    expect(new Set(endpoint.received.map(({ id }) => id)).size).to.equal(1);
    expect(requestsWith(1).every((each) => each.numbers.includes(0))).to.equal(true);
  });
});
