import { setMaxListeners } from 'node:events';
import type { DoorbellTopic } from '@gateway/contracts/doorbell';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { ApiError } from '@gateway/runtime/errors';
import { askAndWait, type OwnerCall } from '@gateway/store/devices/questions/ask-and-wait';
import { takeQuestions, writeOwnerAnswer } from '@gateway/store/devices/questions/owner-questions';
import { eventually } from '@gateway/testkit/eventually';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

const DAY_MS = 86_400_000;
const TAKEN_MS = 2_000;
const QUESTION = { kind: 'contacts', numbers: ['447700900001'] } as const;

describe('who asks the owner of a device', () => {
  const { space, ownership, address } = useOwnedDevice();
  type Listener = (bell: { topic: DoorbellTopic; workspace: string; device: string }) => void;
  let listeners: Set<Listener>;
  /** By the caller's clock, which stands still unless a test moves it. */
  let passedMs: number;
  let gone: AbortController;
  let looks = 0;
  let isOver: boolean;
  beforeEach(() => {
    [listeners, passedMs, gone, isOver] = [new Set(), 0, new AbortController(), false];
    setMaxListeners(0, gone.signal);
  });

  const ask = (call: Partial<OwnerCall> = {}) => {
    const doorbells = {
      on: (listener: Listener) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
    const redis = new Proxy(space.store.redis, {
      get: (client, name) => {
        if (name === 'hlen') looks++;
        return Reflect.get(client, name);
      },
    });
    const clock = { nowMs: () => passedMs, monotonicMs: () => passedMs };
    const deps = { store: { ...space.store, redis }, clock, doorbells, waits: { takenMs: TAKEN_MS } };
    const asked = { parts: 1, timeoutMs: 30_000, signal: gone.signal, question: QUESTION, ...call };
    const end = <Outcome>(outcome: Outcome) => {
      isOver = true;
      return outcome;
    };
    return askAndWait(deps, address, asked).then(
      (parts) => end({ parts: [...parts.entries()] }),
      (thrown: unknown) => end(thrown as ApiError),
    );
  };
  /** The caller, once it waits, looks again at a time of its clock. */
  const lookAt = async (ms: number) => {
    await eventually(() => listeners.size > 0 || isOver, { everyMs: 1 });
    passedMs = ms;
    for (const ring of listeners) ring({ topic: 'answers', ...address });
  };
  /** A look that began after this call is over: the next one has begun. */
  const looked = async () => {
    const before = looks;
    await eventually(() => looks >= before + 2, { everyMs: 1, what: 'two looks' });
  };
  const keys = () => deviceKeys(space.store.space, address);
  const waiting = () => space.store.redis.hlen(keys().questions);
  const isAsked = () => eventually(async () => (await waiting()) > 0, { everyMs: 1 });
  const take = async (owner = ownership) => {
    await isAsked();
    const [question] = await takeQuestions(space.store, owner);
    return question!.id;
  };
  const answer = (id: string, part: string, owner = ownership) =>
    writeOwnerAnswer(space.store, owner, { id, part, value: `said ${part}` });
  const checksOfToday = async () => Number(await space.store.redis.get(keys().contactChecks(0)));

  it('gets the parts of the answer when there are all of them, and leaves nothing behind', async () => {
    const asked = ask({ parts: 2 });
    const id = await take();
    await answer(id, '0');
    await lookAt(1);
    await answer(id, '1');
    await lookAt(2);
    expect(await asked).to.deep.equal({
      parts: [
        ['0', 'said 0'],
        ['1', 'said 1'],
      ],
    });
    expect(listeners.size).to.equal(0);
    expect(await space.store.redis.exists(keys().answer(id))).to.equal(0);
  });

  it('gets the parts that there are when the time is over', async () => {
    const asked = ask({ parts: 2, timeoutMs: 5_000 });
    await answer(await take(), '0');
    await lookAt(5_000);
    expect(await asked).to.deep.equal({ parts: [['0', 'said 0']] });
  });

  it('is told that no sender has the device, once none has begun to answer for a while; its question is withdrawn', async () => {
    const quota = { count: 7, cap: 10, nowMs: 0 };
    const asked = ask({ quota });
    await isAsked();
    expect(await checksOfToday()).to.equal(7);
    await lookAt(TAKEN_MS);
    const error = (await asked) as ApiError;
    expect(error).to.include({ code: 'no_sender' });
    expect(error.headers).to.deep.equal({ 'Retry-After': '10' });
    expect([await waiting(), await checksOfToday()]).to.deep.equal([0, 0]);
  });

  it('waits until then for one to begin', async () => {
    const asked = ask();
    await isAsked();
    await lookAt(TAKEN_MS - 1);
    await looked();
    await answer(await take(), '0');
    await lookAt(TAKEN_MS);
    expect(await asked).to.deep.equal({ parts: [['0', 'said 0']] });
  });

  it('waits for an owner that has begun, however long that takes', async () => {
    const asked = ask();
    const id = await take();
    await lookAt(TAKEN_MS * 5);
    await looked();
    expect(await waiting(), 'it is not asked once more').to.equal(0);
    await answer(id, '0');
    await lookAt(TAKEN_MS * 5 + 1);
    expect(await asked).to.have.property('parts');
  });

  it('asks again what a doorbell did not tell, or the next owner when one died, and counts it once', async () => {
    const asked = ask({ quota: { count: 7, cap: 10, nowMs: 0 } });
    await take();
    await giveDeviceBack(space.store, ownership);
    const next = (await takeDevice(space.store, address, { owner: 'next', ttlMs: 60_000 }))!;
    await lookAt(499);
    await looked();
    expect(await waiting(), 'not at once').to.equal(0);
    await lookAt(500);
    const id = await take(next);
    expect(await checksOfToday()).to.equal(7);
    await answer(id, '0', next);
    await lookAt(501);
    expect(await asked).to.deep.equal({ parts: [['0', 'said 0']] });
  });

  it('is refused when the owner says that it is asked too much, and when too many questions wait', async () => {
    const asked = ask();
    await answer(await take(), 'refused');
    await lookAt(1);
    expect(await asked).to.include({ code: 'unavailable' });
    const others = Array.from({ length: 20 }, () => ask());
    await eventually(async () => (await waiting()) === 20, { everyMs: 1 });
    expect(await ask()).to.include({ code: 'unavailable' });
    gone.abort();
    for (const other of await Promise.all(others)) expect(other).to.include({ code: 'unavailable' });
    expect(await waiting(), 'who is gone asks no more').to.equal(0);
  });

  it('hears when the quota of its day is used up, and until when', async () => {
    const hourMs = 3_600_000;
    const error = (await ask({ quota: { count: 11, cap: 10, nowMs: DAY_MS - hourMs } })) as ApiError;
    expect(error).to.include({ code: 'contact_checks_used_up' });
    expect(error.headers).to.deep.equal({ 'Retry-After': '3600' });
    expect(await waiting()).to.equal(0);
  });
});
