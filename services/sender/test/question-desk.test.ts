import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { HeldDevice } from '@gateway/fleet/session-keeper';
import { createLogger } from '@gateway/runtime/logs/logger';
import { QuestionDesk } from '@gateway/sender/device/question-desk';
import { askOwner, readAnswerProgress } from '@gateway/store/devices/questions/owner-questions';
import { eventually } from '@gateway/testkit/eventually';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ADDRESS = { workspace: 'main', device: 'shop' };

describe('the desk of questions, while the device has no connection', () => {
  let space: RedisSpace;
  let desk: QuestionDesk;
  const nowMs = 0;
  beforeEach(async () => {
    space = await openRedisSpace();
    const ownership = (await takeDevice(space.store, ADDRESS, { owner: 'first', ttlMs: 60_000 }))!;
    const held: HeldDevice = { ...ownership, assertHeld: () => {}, lost: new AbortController().signal };
    const logger = createLogger({ service: 'test', level: 'error' });
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
    desk = new QuestionDesk({
      store: space.store,
      ownership: held,
      clock,
      logger,
      forgetPerson: async () => ({}),
      onFailed: () => {},
    });
  });
  afterEach(async () => {
    desk.stop();
    await space.close();
  });

  const progress = (id: string) => readAnswerProgress(space.store, ADDRESS, id);
  const ask = async (id: string) => {
    await askOwner(space.store, ADDRESS, { id, question: { kind: 'contacts', numbers: ['447700900001'] } });
    desk.look();
    await eventually(async () => (await space.store.redis.exists(questionsKey())) === 0);
  };
  const questionsKey = () => deviceKeys(space.store.space, ADDRESS).questions;

  it('refuses what is too much, but never what it already has', async () => {
    for (let i = 0; i <= 20; i++) await ask(`q${i}`);
    await ask('one too many');
    await eventually(async () => (await progress('one too many')).isRefused);
    await ask('q0');
    await ask('q20');
    // Taken after both: what was to be refused is.
    await ask('another');
    await eventually(async () => (await progress('another')).isRefused);
    for (const id of ['q0', 'q20']) expect((await progress(id)).isRefused, id).to.equal(false);
  });
});
