import type { OwnerQuestion } from '@gateway/contracts/devices/owner-questions';
import { LIMITS } from '@gateway/contracts/limits';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { HeldDevice } from '@gateway/fleet/session-keeper';
import { FencedError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { QuestionDesk } from '@gateway/sender/device/question-desk';
import {
  askOwner,
  forgetQuestion,
  readAnswerParts,
  readAnswerProgress,
} from '@gateway/store/devices/questions/owner-questions';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { eventually } from '@gateway/testkit/eventually';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { ScriptedSession } from '@gateway/testkit/scripted-session';
import { expect } from 'chai';

const ADDRESS = { workspace: 'main', device: 'shop' };

describe('the desk of questions', () => {
  let space: RedisSpace;
  let desk: QuestionDesk;
  let nowMs: number;
  let ownership: Ownership;
  let failed: Error[];
  beforeEach(async () => {
    [nowMs, failed] = [0, []];
    space = await openRedisSpace();
    ownership = (await takeDevice(space.store, ADDRESS, { owner: 'first', ttlMs: 60_000 }))!;
    const held: HeldDevice = { ...ownership, assertHeld: () => {}, lost: new AbortController().signal };
    const logger = createLogger({ service: 'test', level: 'error' });
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
    desk = new QuestionDesk({
      store: space.store,
      ownership: held,
      clock,
      logger,
      forgetPerson: async (number) => ({ forgotten: number }) as never,
      onFailed: (error) => void failed.push(error),
    });
  });
  afterEach(async () => {
    desk.stop();
    await space.close();
  });

  const progress = (id: string) => readAnswerProgress(space.store, ADDRESS, id);
  const ask = async (id: string, question: OwnerQuestion = { kind: 'contacts', numbers: ['447700900001'] }) => {
    await askOwner(space.store, ADDRESS, { id, question });
    desk.look();
    await eventually(async () => (await space.store.redis.exists(questionsKey())) === 0);
  };
  /** The parts of the answer, once there are so many. */
  const answered = (id: string, parts: number): Promise<unknown[]> =>
    eventually(async () => {
      const found = await readAnswerParts(space.store, ADDRESS, id);
      return found.size === parts && [...found.values()].map((part) => JSON.parse(part) as unknown);
    });
  const questionsKey = () => deviceKeys(space.store.space, ADDRESS).questions;

  it('answers a hundred numbers at a time, and asks the connection about each', async () => {
    const numbers = Array.from({ length: 150 }, (_, i) => `4477009${String(i).padStart(5, '0')}`);
    desk.attach(
      new ScriptedSession({
        lookUp: (number) => ({ exists: number !== numbers[1] }),
        isAcquainted: (number) => number === numbers[0],
      }),
    );
    await askOwner(space.store, ADDRESS, { id: 'q', question: { kind: 'contacts', numbers } });
    desk.look();
    const parts = await answered('q', 2);
    expect(parts.map((part) => (part as unknown[]).length)).to.deep.equal([100, 50]);
    expect((parts[0] as unknown[]).slice(0, 3)).to.deep.equal([
      { onMessenger: true, hasConversation: true },
      { onMessenger: false, hasConversation: false },
      { onMessenger: true, hasConversation: false },
    ]);
  });

  it('says that it does not know what a connection that has ended cannot tell', async () => {
    const session = new ScriptedSession();
    desk.attach(session);
    session.lose({ kind: 'closedByUs' });
    await ask('q');
    expect(await answered('q', 1)).to.deep.equal([[{ onMessenger: null, hasConversation: null }]]);
  });

  it('answers an operator beside that: what the network said, or that a person is forgotten', async () => {
    await askOwner(space.store, ADDRESS, { id: 'forget', question: { kind: 'forget', number: '447700900001' } });
    desk.look();
    expect(await answered('forget', 1), 'needs no connection').to.deep.equal([{ forgotten: '447700900001' }]);
    desk.attach(new ScriptedSession());
    await askOwner(space.store, ADDRESS, { id: 'trace', question: { kind: 'trace', seconds: 1 } });
    desk.look();
    expect(await answered('trace', 1)).to.deep.equal([[]]);
  });

  it('refuses, while there is no connection, what is too much, but never what it already has', async () => {
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

  it('asks for five files at a time, and answers one operator beside them; what is more is refused, until one is done', async () => {
    const file = (i: number) => ask(`file${i}`, { kind: 'file', platformId: `id${i}`, jid: '1@lid', mediaKey: 'AA==' });
    const isRefused = (id: string) => eventually(async () => (await progress(id)).isRefused);
    for (let i = 0; i <= 5; i++) await file(i);
    await isRefused('file5');
    await ask('session', { kind: 'session' });
    await ask('trace', { kind: 'trace', seconds: 1 });
    await isRefused('trace');
    desk.attach(new ScriptedSession({ askForFile: ({ platformId }) => (platformId === 'id1' ? undefined : '/path') }));
    for (const i of [0, 1, 2, 3, 4])
      expect(await answered(`file${i}`, 1)).to.deep.equal([{ directPath: i === 1 ? null : '/path' }]);
    expect(await answered('session', 1), 'it has none').to.deep.equal([null]);
    await file(6);
    await ask('again', { kind: 'trace', seconds: 1 });
    expect(await answered('file6', 1)).to.have.length(1);
    expect(await answered('again', 1)).to.have.length(1);
  });

  it('asks the connection nothing for a caller who waits no more, and nothing further once that is known', async () => {
    const numbers = Array.from({ length: 250 }, (_, i) => `4477008${String(i).padStart(5, '0')}`);
    const asked = new Set<string>();
    const session = new ScriptedSession({ lookUp: (number) => ({ exists: asked.add(number).size > 0 }) });
    await ask('late');
    nowMs += LIMITS.contactsWaitSeconds * 1000 + 1;
    await ask('left', { kind: 'contacts', numbers });
    await forgetQuestion(space.store, ADDRESS, { id: 'left' });
    await ask('next', { kind: 'contacts', numbers: ['447700900002'] });
    desk.attach(session);
    await answered('next', 1);
    expect([...asked]).to.deep.equal([...numbers.slice(0, 100), '447700900002']);
    expect((await readAnswerParts(space.store, ADDRESS, 'late')).size).to.equal(0);
  });

  it('leaves a question that comes between two connections to the next of them', async () => {
    desk.attach(new ScriptedSession({ lookUp: () => ({ exists: false }) }));
    desk.detach();
    await ask('q');
    desk.attach(new ScriptedSession());
    expect(await answered('q', 1)).to.deep.equal([[{ onMessenger: true, hasConversation: true }]]);
  });

  it('says that the ownership is lost when another process has it', async () => {
    await giveDeviceBack(space.store, ownership);
    await takeDevice(space.store, ADDRESS, { owner: 'second', ttlMs: 60_000 });
    await askOwner(space.store, ADDRESS, { id: 'q', question: { kind: 'contacts', numbers: ['447700900001'] } });
    desk.look();
    await eventually(() => failed[0] instanceof FencedError);
  });
});
