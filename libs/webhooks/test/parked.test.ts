import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { claimDelivery, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { readDue, readParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { changeWebhook, readWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { useEndpoint } from './support/use-endpoint.js';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
/** Of the clock, between two looks. */
const STEP_SECONDS = 5;
const RECIPIENTS = 1_000;

describe('what an endpoint refuses again and again', () => {
  const endpoint = useEndpoint();
  const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);
  const keyOf = (number: number) => `k${number % RECIPIENTS}`;
  const place = () => ({ workspace: 'main', id: endpoint.id });
  /** Recipients for whom something is put aside, due or not. */
  const parked = async (keys: readonly string[]) => {
    const found = await readParked(endpoint.space.store, place(), keys);
    return found.map(({ key, events }) => `${key}: ${events.map(({ id }) => id).join()}`);
  };
  const failed = () => endpoint.received.length - endpoint.receivedWell;
  const rest = async (seconds: number) => {
    for (let second = 0; second < seconds; second += STEP_SECONDS) {
      await endpoint.deliverAll();
      endpoint.nowMs += STEP_SECONDS * SECOND_MS;
    }
  };
  const refuse = (isRefused: (number: number) => boolean, status = 422) => {
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.some(isRefused) ? status : 204);
  };
  const inOrder = (told: readonly number[]) => {
    const last = new Map<string, number>();
    for (const number of told) {
      expect(number, 'order of its recipient').to.be.above(last.get(keyOf(number)) ?? -1);
      last.set(keyOf(number), number);
    }
  };

  it('is posted at once when its endpoint passes a test: it may have another URL by now', async () => {
    endpoint.keyOf = keyOf;
    refuse((number) => number === 7);
    await endpoint.write(...numbers(20));
    await rest(300);
    endpoint.answer = () => 204;
    await endpoint.deliverAll();
    expect(endpoint.told, 'its clock is minutes long').not.to.include(7);
    await endpoint.passTest();
    await endpoint.deliverAll();
    expect(endpoint.told).to.include(7);
  });

  it('is put aside with all that follows for its recipient; others are 90 s late at most, after 25 failed requests', async () => {
    endpoint.keyOf = keyOf;
    refuse((number) => number === 137);
    await endpoint.write(...numbers(500));
    const startMs = endpoint.nowMs;
    const writtenMs = new Map(numbers(500).map((number) => [number, startMs]));
    let lateMs = 0;
    let next = 500;
    for (let second = 0; second < 600; second += STEP_SECONDS) {
      if (second < 400) {
        // Second changes of some recipients, also of the one who is refused.
        for (const number of numbers(10, next)) writtenMs.set(number, endpoint.nowMs);
        await endpoint.write(...numbers(10, next));
        next += 10;
      }
      const before = endpoint.told.length;
      await endpoint.deliverAll();
      for (const number of endpoint.told.slice(before)) {
        lateMs = Math.max(lateMs, endpoint.nowMs - writtenMs.get(number)!);
      }
      endpoint.nowMs += STEP_SECONDS * SECOND_MS;
    }
    expect(lateMs).to.be.at.most(90 * SECOND_MS);
    expect(failed()).to.be.at.most(25);
    expect(await parked(['k137', 'k138'])).to.deep.equal(['k137: 137,1137']);
    expect(endpoint.told).to.have.length(1_298);
    expect(await endpoint.status()).to.equal('active');
    refuse(() => false);
    endpoint.nowMs += HOUR_MS;
    await rest(10);
    expect(await parked(['k137'])).to.deep.equal([]);
    expect([...endpoint.told].sort((one, other) => one - other)).to.deep.equal(numbers(1_300));
    inOrder(endpoint.told);
  });

  it('is not posted again before replicas have what is posted', async () => {
    endpoint.keyOf = keyOf;
    refuse((number) => number === 7);
    await endpoint.write(...numbers(20));
    await rest(30);
    expect(await parked(['k7'])).to.deep.equal(['k7: 7']);
    refuse(() => false);
    endpoint.nowMs += HOUR_MS;
    const before = endpoint.received.length;
    const confirmWrites = async () => {
      throw new Error('not confirmed');
    };
    for (const attempt of ['of the claim', 'and when it is there already']) {
      await endpoint.deliver({ store: { ...endpoint.space.store, confirmWrites } }).catch(() => {});
      expect(endpoint.received.slice(before), attempt).to.deep.equal([]);
    }
    await endpoint.deliverAll();
    expect(endpoint.received.slice(before).map((request) => request.numbers)).to.deep.equal([[7]]);
  });

  it('is posted by itself at once, also when it is put aside while one request follows another', async () => {
    const { store } = endpoint.space;
    const webhook = workspaceKeys(store.space, 'main').webhook(endpoint.id);
    endpoint.isAlone = true;
    endpoint.keyOf = keyOf;
    refuse((number) => number === 7);
    await endpoint.write(7);
    for (let failure = 0; failure < 3; failure++) {
      expect(await endpoint.deliver()).to.equal('waiting');
      // Something else was taken since.
      await store.redis.hdel(webhook, 'breaker');
      endpoint.nowMs += HOUR_MS;
    }
    await endpoint.write(8);
    expect(await endpoint.deliver({ goesOnMs: 10_000 })).to.equal('more');
    expect(endpoint.told).to.deep.equal([8]);
    expect(await parked(['k7'])).to.deep.equal(['k7: 7']);
    const before = failed();
    await endpoint.deliver();
    expect(failed() - before).to.equal(1);
  });

  it('is found also while nothing comes behind it', async () => {
    endpoint.keyOf = keyOf;
    refuse((number) => number === 7);
    await endpoint.write(...numbers(20));
    await rest(30);
    expect(await parked(numbers(20).map(keyOf))).to.deep.equal(['k7: 7']);
    expect(endpoint.told).to.have.length(19);
    expect(failed()).to.be.at.most(15);
    const before = failed();
    for (const follower of numbers(12)) {
      await endpoint.write(7 + RECIPIENTS * (follower + 1));
      await rest(5);
    }
    expect(failed() - before, 'what follows does not hasten it').to.be.at.most(3);
  });

  it('is found, however many there are, and each waits by itself', async () => {
    endpoint.keyOf = keyOf;
    const bad = [0, 1, 250, 251, 333, 499];
    refuse((number) => bad.includes(number));
    await endpoint.write(...numbers(500));
    await endpoint.write(500);
    await rest(40);
    expect(await parked(numbers(500).map(keyOf))).to.deep.equal(bad.map((number) => `${keyOf(number)}: ${number}`));
    expect(endpoint.told).to.have.length(501 - bad.length);
    expect(failed()).to.be.at.most(60);
  });

  it('is not put aside by an outage, whatever it answers, and nothing comes twice after it', async () => {
    endpoint.keyOf = keyOf;
    endpoint.answer = () => 503;
    await endpoint.write(...numbers(500));
    await endpoint.write(...numbers(500, 500));
    const endMs = endpoint.nowMs + 24 * HOUR_MS;
    const key = `${endpoint.space.prefix}:{main}:webhook:${endpoint.id}`;
    while (endpoint.nowMs < endMs) {
      // At the third failure other things are tried at once.
      for (let again = 0; again < 5; again++) expect(await endpoint.deliverAll()).to.equal('waiting');
      endpoint.nowMs = JSON.parse((await endpoint.space.store.redis.hget(key, 'breaker'))!).nextAttemptMs;
    }
    expect(endpoint.received.length).to.be.within(90, 110);
    expect(
      new Set(endpoint.received.map(({ id }) => id)).size,
      'what comes first, what is behind it, and two recipients',
    ).to.equal(4);
    expect(await parked(numbers(RECIPIENTS).map(keyOf))).to.deep.equal([]);
    endpoint.answer = () => 204;
    await rest(2);
    expect([...endpoint.told].sort((one, other) => one - other)).to.deep.equal(numbers(1_000));
  });

  it('is posted again as it was where it had no answer and nothing comes behind it', async () => {
    endpoint.keyOf = keyOf;
    endpoint.answer = (_request, res) => {
      if (!endpoint.received.at(-1)!.numbers.includes(3)) return 204;
      res.destroy();
      return undefined;
    };
    await endpoint.write(...numbers(10));
    await endpoint.write(...numbers(10, 10));
    await rest(300);
    expect(endpoint.told).to.deep.equal([]);
    expect(new Set(endpoint.received.map(({ id }) => id)).size).to.equal(1);
    expect(await endpoint.status()).to.equal('failing');
  });

  /** Of the first ten one is refused often enough, and ten more come behind them. */
  const failOften = async () => {
    endpoint.keyOf = keyOf;
    refuse((number) => number === 3);
    await endpoint.write(...numbers(10));
    for (let refusal = 0; refusal < 3; refusal++) {
      await endpoint.deliver();
      endpoint.nowMs += HOUR_MS / 60;
    }
    await endpoint.write(...numbers(10, 10), 1_005);
  };
  /** What was tried in the place of the first ones, twice, and all others once. */
  const expectRepeat = () => {
    const tried = endpoint.received.filter((each) => each.numbers.includes(10));
    expect(tried).to.have.length(2);
    expect(new Set(tried.map(({ id }) => id)).size).to.equal(1);
    expect([...endpoint.told].sort((one, other) => one - other)).to.deep.equal([...numbers(30), 1_005]);
    inOrder(endpoint.told);
  };

  it('is followed by what was tried in its place, as that was, when a process died before it knew the answer', async () => {
    await failOften();
    const { store } = endpoint.space;
    const run: RunScript = async (name, keys, args) => {
      if (name === 'settle-delivery') throw new Error('killed');
      return store.run(name, keys, args);
    };
    const killed = await endpoint.deliver({ store: { ...store, run } }).catch((error: Error) => error.message);
    expect([killed, endpoint.told.splice(0)]).to.deep.equal(['killed', numbers(10, 10)]);
    await endpoint.endSession();
    await endpoint.write(...numbers(10, 20));
    // As the step does that settles a request of another lane.
    const webhook = workspaceKeys(store.space, 'main').webhook(endpoint.id);
    await store.redis.hset(webhook, { status: 'active', breaker: '{}' });
    await rest(10);
    refuse(() => false);
    endpoint.nowMs += HOUR_MS;
    await rest(10);
    expectRepeat();
  });

  it('is followed by what was tried in its place, as that was, also when it is taken before that has an answer', async () => {
    await failOften();
    endpoint.answer = (_request, res) => void res.destroy();
    await endpoint.deliver();
    await endpoint.write(...numbers(10, 20));
    refuse(() => false);
    endpoint.nowMs += HOUR_MS;
    await rest(10);
    expectRepeat();
  });

  it('holds up all that follows where the order is strict', async () => {
    endpoint.keyOf = keyOf;
    await changeWebhook(endpoint.space.store, 'main', endpoint.id, { settings: { order: 'strict' } });
    expect((await readWebhook(endpoint.space.store, 'main', endpoint.id))!.settings.order).to.equal('strict');
    refuse((number) => number === 3);
    await endpoint.write(...numbers(10));
    await endpoint.write(...numbers(10, 10));
    await rest(300);
    expect(endpoint.told).to.deep.equal([]);
    refuse(() => false);
    endpoint.nowMs += HOUR_MS;
    await rest(10);
    expect(endpoint.told).to.deep.equal(numbers(20));
  });

  it('is 10,000 events at most: then the oldest go, and the endpoint is told of the gap', async () => {
    const { store } = endpoint.space;
    endpoint.keyOf = keyOf;
    refuse(() => true);
    await endpoint.write(...numbers(1));
    const taken = await takeWebhook(store, place(), ownerOf('process-1'));
    if (typeof taken === 'string') throw new Error(taken);
    const [entry] = (await store.redis.xrange(`${endpoint.space.prefix}:log`, '-', '+'))[0]!;
    const add = (from: number, count: number) =>
      numbers(count, from).map(
        (n) =>
          ({ what: 'add', key: `k${10_000 + n}`, event: { entry, id: `${n}`, type: 'number', device: 'd' } }) as const,
      );
    const state = (refusals: number) => ({ ...taken.lanes.prompt, claim: { to: entry, refusals } });
    const write = (from: number, count: number) =>
      claimDelivery(store, taken, { lane: 'prompt', state: state(-from), changes: add(from, count), nowMs: from + 1 });
    expect([await write(0, 9_999), await write(9_999, 4)]).to.deep.equal([true, true]);
    expect(await parked(['k10000', 'k10001', 'k10002', 'k10003', 'k20002'])).to.have.length(2);
    endpoint.answer = () => 204;
    const bodies = () => endpoint.received.map(({ body }) => body).filter((body) => body.includes('lost'));
    await endpoint.deliver();
    await endpoint.deliver();
    expect(bodies()).to.deep.equal([JSON.stringify({ lost: 3, atMs: endpoint.nowMs })]);
    expect((await readDue(store, place(), { nowMs: endpoint.nowMs, most: 5 })).length).to.equal(5);
  });

  it('and whatever else happens: of each recipient all is told, in order, wherever processes are killed', async () => {
    let seed = 11;
    const random = () => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    endpoint.keyOf = (number) => `k${number % 7}`;
    const { store } = endpoint.space;
    const bad = new Set(numbers(300).filter(() => random() < 0.03));
    let isWell = false;
    endpoint.answer = (_request, res) => {
      if (isWell) return 204;
      const culprit = endpoint.received.at(-1)!.numbers.find((number) => bad.has(number));
      if (culprit !== undefined) return culprit % 2 === 0 ? 422 : void res.destroy();
      const chance = random();
      if (chance < 0.15) return 500;
      if (chance < 0.2) return 413;
      if (chance < 0.25) return void res.destroy();
      return 204;
    };
    const run: RunScript = async (name, keys, args) => {
      const isStep = ['claim-delivery', 'settle-delivery'].includes(name);
      if (isStep && !isWell && random() < 0.05) throw new Error('killed');
      const reply = await store.run(name, keys, args);
      if (isStep && !isWell && random() < 0.05) throw new Error('killed');
      return reply;
    };
    let next = 0;
    let token = 0;
    for (let round = 0; round < 450; round++) {
      if (round % 5 === 0 && !isWell && next < 300) {
        const count = 1 + Math.floor(random() * 6);
        await endpoint.write(...numbers(Math.min(count, 300 - next), next));
        next = Math.min(next + count, 300);
      }
      isWell = round > 350;
      const outcome = await endpoint
        .deliver({ store: { ...store, run }, owner: ownerOf(`process-${token}`) })
        .catch(() => 'killed');
      if (outcome === 'killed') token++;
      // Of a process that was killed: also where its other lane wrote once more meanwhile.
      if (outcome === 'killed' || outcome === 'taken') await endpoint.endSession();
      endpoint.nowMs += (isWell ? 900 : 10 * random()) * SECOND_MS;
    }
    const firsts = [...new Set(endpoint.told)];
    expect([...firsts].sort((one, other) => one - other)).to.deep.equal(numbers(next));
    for (const key of numbers(7)) {
      const ofKey = firsts.filter((number) => number % 7 === key);
      expect(ofKey).to.deep.equal([...ofKey].sort((one, other) => one - other));
    }
    expect(
      await readParked(
        store,
        place(),
        numbers(7).map((key) => `k${key}`),
      ),
    ).to.deep.equal([]);
  });
});
