import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError } from '@gateway/runtime/errors';
import {
  askOwner,
  forgetQuestion,
  readAnswerParts,
  readAnswerProgress,
  takeQuestions,
  withdrawQuestion,
  writeOwnerAnswer,
} from '@gateway/store/devices/questions/owner-questions';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ADDRESS = { workspace: 'main', device: 'shop' };
const CONTACTS = { kind: 'contacts', numbers: ['447700900001'] } as const;
const DAY = 86_400_000;

describe('questions to the owner of a device', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  beforeEach(async () => {
    space = await openRedisSpace();
    ownership = (await takeDevice(space.store, ADDRESS, { owner: 'first', ttlMs: 60_000 }))!;
  });
  afterEach(() => space.close());

  const ask = (id: string) => askOwner(space.store, ADDRESS, { id, question: CONTACTS });
  const progress = (id: string) => readAnswerProgress(space.store, ADDRESS, id);
  const handOver = async () => {
    await giveDeviceBack(space.store, ownership);
    return (await takeDevice(space.store, ADDRESS, { owner: 'second', ttlMs: 60_000 }))!;
  };
  async function expectFenced(work: Promise<unknown>): Promise<void> {
    const thrown = await work.catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(FencedError);
  }

  it('are taken once, answered in parts, and forgotten', async () => {
    await ask('a');
    expect(await progress('a')).to.deep.equal({ taken: undefined, isRefused: false, parts: 0 });
    expect(await takeQuestions(space.store, ownership)).to.deep.equal([{ id: 'a', question: CONTACTS }]);
    expect(await takeQuestions(space.store, ownership)).to.deep.equal([]);
    expect(await writeOwnerAnswer(space.store, ownership, { id: 'a', part: '0', value: 'yes' })).to.equal(true);
    expect(await progress('a')).to.deep.equal({ taken: 'byOwner', isRefused: false, parts: 1 });
    expect(await readAnswerParts(space.store, ADDRESS, 'a')).to.deep.equal(new Map([['0', 'yes']]));
    await forgetQuestion(space.store, ADDRESS, { id: 'a' });
    expect(await writeOwnerAnswer(space.store, ownership, { id: 'a', part: '1', value: 'late' })).to.equal(false);
    expect(await space.clients.commands.exists(deviceKeys(space.store.space, ADDRESS).answer('a'))).to.equal(0);
  });

  it('are neither taken nor answered by a stale owner, and go to the next one', async () => {
    await ask('a');
    await takeQuestions(space.store, ownership);
    const next = await handOver();
    await expectFenced(writeOwnerAnswer(space.store, ownership, { id: 'a', part: '0', value: 'old' }));
    await ask('b');
    await expectFenced(takeQuestions(space.store, ownership));
    expect((await progress('a')).taken).to.equal('byFormerOwner');
    await ask('a');
    expect((await takeQuestions(space.store, next)).map(({ id }) => id)).to.have.members(['a', 'b']);
    expect((await progress('a')).taken).to.equal('byOwner');
  });

  it('have no part too many when they are taken between two looks at their answer', async () => {
    await ask('a');
    const { redis } = space.store;
    let looks = 0;
    // Whichever command comes first is answered before the question is taken, and the others after it.
    const late = new Proxy(redis, {
      get: (client, name) => {
        if (!['hlen', 'hmget'].includes(String(name))) return Reflect.get(client, name);
        const isFirst = looks++ === 0;
        return async (...args: never[]) => {
          if (!isFirst) await takeQuestions(space.store, ownership);
          return (Reflect.get(client, name) as (...all: never[]) => unknown).apply(client, args);
        };
      },
    });
    expect((await readAnswerProgress({ ...space.store, redis: late }, ADDRESS, 'a')).parts).to.equal(0);
  });

  it('are removed with their numbers when no owner takes them', async () => {
    await ask('a');
    const { questions, answer } = deviceKeys(space.store.space, ADDRESS);
    expect(await space.clients.commands.pttl(questions)).to.be.within(1, 30_000);
    await takeQuestions(space.store, ownership);
    expect(await space.clients.commands.pttl(answer('a'))).to.be.within(1, 30_000);
  });

  it('of a version that is not known are named, and not opened', async () => {
    await askOwner(space.store, ADDRESS, { id: 'a', question: { kind: 'weather' } as never });
    expect(await takeQuestions(space.store, ownership)).to.deep.equal([{ id: 'a', question: undefined }]);
  });

  it('give back what they counted when no owner has begun to answer, and once', async () => {
    const asking = (id: string) => ({ id, question: CONTACTS, quota: { count: 5, cap: 10, nowMs: 20_000 * DAY } });
    const { contactChecks } = deviceKeys(space.store.space, ADDRESS);
    const counted = async () => Number(await space.clients.commands.get(contactChecks(20_000)));
    const withdraw = (id: string) => withdrawQuestion(space.store, ADDRESS, asking(id));
    for (const id of ['a', 'b']) await askOwner(space.store, ADDRESS, asking(id));
    for (const _ of [1, 2]) expect(await withdraw('a')).to.equal(true);
    expect(await counted()).to.equal(5);
    await takeQuestions(space.store, ownership);
    expect(await withdraw('b'), 'taken').to.equal(false);
    await askOwner(space.store, ADDRESS, { id: 'b', question: CONTACTS });
    expect(await withdraw('b'), 'taken by an owner that has died since').to.equal(false);
    expect(await counted()).to.equal(5);
    await writeOwnerAnswer(space.store, ownership, { id: 'b', part: 'refused', value: 'busy' });
    for (const _ of [1, 2]) expect(await withdraw('b'), 'refused').to.equal(true);
    expect(await counted()).to.equal(0);
    await askOwner(space.store, ADDRESS, asking('c'));
    await takeQuestions(space.store, ownership);
    for (const part of ['0', 'refused']) await writeOwnerAnswer(space.store, ownership, { id: 'c', part, value: 'x' });
    expect(await withdraw('c'), 'a part was answered').to.equal(false);
  });

  it('count towards the cap of their day only', async () => {
    const nowMs = 20_000 * DAY;
    const askAt = (id: string, count: number, atMs: number) =>
      askOwner(space.store, ADDRESS, { id, question: CONTACTS, quota: { count, cap: 10, nowMs: atMs } });
    expect(await askAt('a', 7, nowMs)).to.equal('asked');
    expect(await askAt('b', 4, nowMs)).to.equal('capped');
    expect(await askAt('c', 3, nowMs + DAY - 1)).to.equal('asked');
    expect(await askAt('d', 1, nowMs + DAY - 1)).to.equal('capped');
    expect(await askAt('e', 10, nowMs + DAY)).to.equal('asked');
  });
});
