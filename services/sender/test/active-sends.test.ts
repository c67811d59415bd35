import type { SendJob } from '@gateway/contracts/jobs';
import { LIMITS } from '@gateway/contracts/limits';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { RECIPIENT_STATUSES, type StatusCounts } from '@gateway/contracts/sends/statuses';
import { ActiveSends } from '@gateway/sender/scheduling/active-sends';
import { MemoryBudget, UNREAD_BYTES } from '@gateway/sender/scheduling/memory-budget';
import type { Rest } from '@gateway/sender/scheduling/retries';
import { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { MAX_FOUND } from '@gateway/sender/scheduling/waiting-lists';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { takeNext, takeReady } from './support/take.js';

const address = { workspace: 'main', device: 'a' };
const counts = Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, 0])) as StatusCounts;
const PLACES = 150;

describe('the active sends of a device', () => {
  let sends: ActiveSends;
  let loaded: string[];
  /** Those of which Redis was told that they are known. */
  let noted: string[];
  let finished: string[];
  let broken: string[];
  let people: string[];
  let text: string;
  /** Of them. */
  let strangers: string[];
  /** How many of a send were in flight when its owners ended. */
  let suspects: Map<string, number>;
  let nowMs: number;
  /** In Redis, in the order in which they were accepted. */
  let open: string[];
  let pages: number;
  let memory: MemoryBudget;
  /** Whom Redis knows of a send. */
  let recipients: Map<string, string[]>;

  beforeEach(() => {
    [loaded, noted, finished, broken] = [[], [], [], []];
    [people, strangers, text, nowMs] = [['4915100000'], [], 'hello', 1_000_000];
    suspects = new Map();
    [open, pages, recipients] = [[], 0, new Map()];
    memory = new MemoryBudget();
    sends = new ActiveSends({
      address,
      memory,
      monotonicMs: () => nowMs,
      nowMs: () => nowMs,
      load: async (messageId, { rest }) => {
        loaded.push(messageId);
        recipients.set(messageId, people);
        if (messageId.includes('broken')) throw new Error('unreadable');
        return messageId.includes('gone') ? undefined : makeSend(messageId, rest);
      },
      note: async (messageId) => void noted.push(messageId),
      onLoaded: () => sends.settle(),
      onFinished: ({ messageId }) => finished.push(messageId),
      onUnloadable: ({ messageId, requestId }) => broken.push(`${messageId} of ${requestId}`),
      findHolding: async (messageIds, phones) => {
        const isOne = (number: string) => phones.some((phone) => spellingsOf(phone).includes(number));
        return new Set(messageIds.filter((messageId) => recipients.get(messageId)!.some(isOne)));
      },
      findHeldNumber: async (messageIds, isWanted) =>
        messageIds.flatMap((messageId) => recipients.get(messageId)!).find(isWanted),
      readPage: async (after) => {
        pages++;
        const from = after === undefined ? 0 : open.indexOf(after) + 1;
        const messageIds = open.slice(from, from + MAX_FOUND);
        return { messageIds, next: messageIds.length === MAX_FOUND ? messageIds.at(-1) : undefined };
      },
      onUnreadable: (error) => broken.push(error.message),
    });
  });

  function makeSend(messageId: string, rest?: Rest): SendProgress {
    const priority = messageId.startsWith('otp') ? 'otp' : 'bulk';
    return new SendProgress({
      record: {
        ...{ messageId, tag: messageId, state: 'open', kind: 'text', total: 1, parts: 1 },
        ...{ owner: 't', requestId: 'r', createdAtMs: 0, expiresAtMs: 1, counts },
        ...{ priority, accountEpoch: 0, blob: '' },
      },
      recipients: people.map((to, index) => ({
        ...{ index, to, status: 'queued', attempts: 0, atMs: 0 },
        errorCode: strangers.includes(to) ? ownErrorCode('new_contacts_held') : 0,
        ...{ partsInFlight: 0, partsInDoubt: 0, partsAcked: 0 },
        ...(index < (suspects.get(messageId) ?? 0) && { partsInFlight: 1, attempts: 3 }),
      })),
      content: { kind: 'text', text },
      rest,
    });
  }
  const job = (messageId: string): SendJob => ({
    ...{ v: 1, ...address, messageId, requestId: 'r' },
    priority: messageId.startsWith('otp') ? 'otp' : 'bulk',
  });
  const names = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `list-${from + i}`);
  const active = () => sends.inTurn().map(({ messageId }) => messageId);
  /** All recipients get the message. */
  function finish(messageId: string): void {
    sends
      .inTurn()
      .find((send) => send.messageId === messageId)!
      .takeUnsent();
    sends.settle();
  }
  async function fill(): Promise<void> {
    await fillBeside(0);
  }
  async function fillBeside(others: number): Promise<void> {
    for (const name of names(PLACES)) void sends.takeIn(job(name));
    await eventually(() => active().length === PLACES + others);
  }

  /** Its people turn out to be strangers under a restriction. */
  async function hold(messageId: string): Promise<void> {
    void sends.takeIn(job(messageId));
    const send = await eventually(() => sends.inTurn().find((one) => one.messageId === messageId));
    send.hold(send.takeForLookUp(10, 0).map(({ index }) => index));
    sends.settle();
  }

  it('keeps lists back from the job of an OTP until its message goes out, a second at most', async () => {
    void sends.takeIn(job('list-1'));
    expect(sends.otpWaits).to.equal(false);
    void sends.takeIn(job('otp-1'));
    expect(sends.otpWaits).to.equal(true);
    await eventually(() => active().includes('otp-1'));
    for (const send of sends.inTurn()) {
      const [recipient] = send.takeForLookUp(1, nowMs);
      send.addReady([recipient!.index]);
    }
    expect(sends.hasReady({ otpOnly: true })).to.equal(true);
    expect(sends.otpWaits).to.equal(true);
    expect(takeNext(sends)?.send.messageId).to.equal('otp-1');
    expect(sends.otpWaits).to.equal(false);
    expect(sends.hasReady({ otpOnly: true })).to.equal(false);

    void sends.takeIn(job('otp-stuck'));
    expect(sends.otpWaits).to.equal(true);
    nowMs += 1_000;
    expect(sends.otpWaits).to.equal(false);
  });

  it('leaves lists without a place in Redis, and gives them one in the order of their arrival', async () => {
    await fill();
    const waiting = names(1_000, PLACES);
    open = names(PLACES + 1_000);
    for (const name of waiting) await sends.takeIn(job(name));
    expect(active()).to.have.length(PLACES);
    expect(loaded, 'nothing of them is read').to.have.length(PLACES);
    expect(noted).to.deep.equal(waiting);
    expect(sends.ids(), 'nothing of them is kept').to.deep.equal(active());
    await sends.takeIn(job(waiting[5]!));
    expect(active(), 'a second job').to.have.length(PLACES);
    for (const name of names(3)) finish(name);
    await eventually(() => active().length === PLACES);
    expect(active().slice(-3)).to.deep.equal(waiting.slice(0, 3));
    expect(finished).to.deep.equal(names(3));
  });

  it('finds the open lists of a former owner, each once and in the order in which they were accepted', async () => {
    const all = names(1_000);
    open = [...all];
    sends.takeInLists();
    for (const name of all) {
      await eventually(() => active().includes(name), { everyMs: 0 });
      expect(active().length).to.be.at.most(PLACES);
      open = open.filter((one) => one !== name);
      finish(name);
    }
    expect(loaded).to.deep.equal(all);
    expect(finished).to.deep.equal(all);
    expect(pages, 'pages').to.be.at.most(12);
    expect(sends.ids()).to.deep.equal([]);
  });

  it('reads no page twice while nothing new is open, and finds what opens behind many others', async () => {
    open = names(PLACES + MAX_FOUND + 50);
    sends.takeInLists();
    await eventually(() => active().length === PLACES);
    open.push('late');
    await sends.takeIn(job('late'));
    const before = pages;
    for (let i = 0; i < 10; i++) sends.settle();
    expect(pages).to.equal(before);
    for (const name of names(PLACES + MAX_FOUND + 50)) {
      await eventually(() => active().includes(name), { everyMs: 0 });
      open = open.filter((one) => one !== name);
      finish(name);
    }
    await eventually(() => active().includes('late'));
  });

  it('asks again a second after the open sends could not be read', async () => {
    const readable = open;
    Object.defineProperty(readable, 'slice', {
      value: () => {
        throw new Error('away');
      },
    });
    sends.takeInLists();
    await eventually(() => broken.length === 1);
    open = ['list-0'];
    nowMs += 999;
    sends.wake();
    expect(broken).to.deep.equal(['away']);
    nowMs += 1;
    sends.wake();
    await eventually(() => active().includes('list-0'));
  });

  describe('whose owners ended one after the other', () => {
    const isCareful = true;
    async function open(...messageIds: string[]): Promise<void> {
      for (const messageId of messageIds) void sends.takeIn(job(messageId));
      await eventually(() => active().length === messageIds.length);
      for (const send of sends.inTurn()) send.addReady(send.takeForLookUp(10, nowMs).map(({ index }) => index));
    }

    it('takes a suspect after all others, of whichever list', async () => {
      suspects.set('list-1', 1);
      people = ['4915100000', '4915100001'];
      await open('list-1', 'list-2');
      const taken = [];
      while (!sends.wantsAlone({ isCareful })) taken.push(takeNext(sends)!);
      expect(taken.map(({ send, recipient }) => `${send.messageId} ${recipient}`)).to.deep.equal([
        ...['list-2 0', 'list-2 1', 'list-1 1'],
      ]);
      expect(sends.nextAlone).to.include({ recipient: 0 });
    });

    it('takes a suspect at once where its owners lasted, for it may be innocent', async () => {
      suspects.set('list-1', 1);
      await open('list-1', 'list-2');
      expect(sends.wantsAlone({ isCareful: false })).to.equal(true);
      expect(sends.wantsAlone({ isCareful })).to.equal(false);
    });

    it('takes nothing of a list with two suspects before an owner has lasted, nor before all other lists', async () => {
      suspects.set('list-1', 2);
      people = ['4915100000', '4915100001', '4915100002'];
      await open('list-1', 'list-2');
      for (const recipient of [0, 1, 2]) {
        expect(sends.wantsAlone({ isCareful: false })).to.equal(false);
        expect(takeNext(sends)).to.deep.include({ recipient }).and.nested.include({ 'send.messageId': 'list-2' });
      }
      expect(sends.hasReady({ otpOnly: false })).to.equal(false);
      expect(sends.wantsAlone({ isCareful })).to.equal(false);
      expect(sends.wantsAlone({ isCareful: false })).to.equal(true);
    });
  });

  it('has as many places for lists while any number of OTPs is stuck', async () => {
    for (let i = 0; i < PLACES; i++) await sends.takeIn(job(`otp-${i}`));
    nowMs += 1_000;
    await fillBeside(PLACES);
    await sends.takeIn(job('list-more'));
    expect(active()).to.have.length(2 * PLACES);
    finish('list-0');
    await eventually(() => active().includes('list-more'));
  });

  it('has one list at a time while all devices take what memory there is, OTPs beside it, and more when there is some', async () => {
    const others = memory.maxBytes;
    memory.take(others);
    for (const name of [...names(3), 'otp-1']) await sends.takeIn(job(name));
    expect(active()).to.deep.equal(['otp-1', 'list-0']);
    finish('list-0');
    await eventually(() => active().includes('list-1'));
    expect(active()).to.deep.equal(['otp-1', 'list-1']);
    expect(memory.heldBytes).to.be.within(others + 8_000, others + 20_000);
    memory.giveBack(others);
    sends.wake();
    await eventually(() => active().includes('list-2'));
    for (const name of active()) finish(name);
    expect(memory.heldBytes).to.equal(0);
    await fill();
    sends.stop();
    expect(memory.heldBytes, 'of a device that goes').to.equal(0);
  });

  it('takes in no more of the lists of a former owner than there is memory for, and one, and the others in their turn', async () => {
    const all = names(PLACES);
    open = [...all];
    text = 'x'.repeat(LIMITS.maxTextCharacters);
    memory.take(memory.maxBytes - 4 * UNREAD_BYTES);
    let mostBytes = 0;
    sends.takeInLists();
    for (const name of all) {
      await eventually(() => active().includes(name), { everyMs: 0 });
      mostBytes = Math.max(mostBytes, memory.heldBytes);
      open.shift();
      finish(name);
    }
    expect(loaded).to.deep.equal(all);
    expect(mostBytes).to.be.within(memory.maxBytes - 2 * UNREAD_BYTES, memory.maxBytes + UNREAD_BYTES);
  });

  it('reads a few lists at a time, of all devices, and no OTP behind them', async () => {
    let reading = 0;
    let most = 0;
    await Promise.all(
      names(100).map(() =>
        memory.load(async () => {
          most = Math.max(most, ++reading);
          await new Promise(setImmediate);
          reading--;
        }),
      ),
    );
    expect(most).to.equal(16);
    let go = () => {};
    const blocked = new Promise<void>((resolve) => {
      go = resolve;
    });
    const loads = names(16).map(() => memory.load(() => blocked));
    void sends.takeIn(job('list-1'));
    await sends.takeIn(job('otp-1'));
    expect(active()).to.deep.equal(['otp-1']);
    go();
    await Promise.all(loads);
    await eventually(() => active().includes('list-1'));
  });

  it('always has a place for an OTP', async () => {
    await fill();
    await sends.takeIn(job('otp-1'));
    expect(active()[0]).to.equal('otp-1');
    finish('otp-1');
    expect(sends.has('otp-1')).to.equal(false);
  });

  it('gives the place of one that cannot be loaded, or is over, to the next', async () => {
    await fill();
    for (const name of ['broken', 'gone', 'expired', 'last']) await sends.takeIn(job(name));
    sends.drop('expired');
    finish('list-0');
    await eventually(() => active().includes('last'));
    expect(broken).to.deep.equal(['broken of r']);
    expect(loaded).not.to.include('expired');
    loaded = [];
    nowMs += 59_999;
    sends.wake();
    expect(loaded).to.deep.equal([]);
    finish('last');
    nowMs += 1;
    sends.wake();
    await eventually(() => loaded.includes('broken'));
  });

  it('sets a send aside whose recipients all wait for the end of a restriction, and takes it up again', async () => {
    await fill();
    await Promise.all([sends.takeIn(job('otp-1')), sends.takeIn(job('next'))]);
    expect(active()).to.have.length(PLACES + 1);
    for (const send of sends.inTurn().slice(0, 11)) send.hold(send.takeForLookUp(10, 0).map(({ index }) => index));
    sends.settle();
    await eventually(() => active().includes('next'));
    expect(active()).to.have.length(PLACES - 9);
    expect(sends.has('otp-1')).to.equal(true);
    expect(finished).to.deep.equal([]);
    sends.resume();
    await eventually(() => active().length === PLACES + 1);
    expect(active()[0], 'an OTP is never parked').to.equal('otp-1');
    expect(sends.has('list-9')).to.equal(true);
  });

  it('names one of those who wait for the end of a restriction, of a send at work or aside', async () => {
    expect(await sends.findHeld(() => true)).to.equal(undefined);
    await hold('list-0');
    expect(active()).to.deep.equal([]);
    expect(await sends.findHeld(() => true)).to.equal('4915100000');
    people = ['4915100001', '4915100002'];
    void sends.takeIn(job('list-1'));
    const send = await eventually(() => sends.inTurn().find(({ messageId }) => messageId === 'list-1'));
    expect(await sends.findHeld(() => true), 'no recipient of that one waits yet').to.equal('4915100000');
    send.hold(send.takeForLookUp(1, 0).map(({ index }) => index));
    expect(await sends.findHeld(() => true)).to.equal('4915100001');
    expect(await sends.findHeld((number) => number !== '4915100001')).to.equal('4915100000');
    sends.release('4915100000');
    sends.release('4915100001');
    await eventually(() => active().includes('list-0'));
    expect(await sends.findHeld(() => true)).to.equal(undefined);
  });

  it('takes up only the sends of the one who wrote, and them first', async () => {
    const number = (i: number) => `55118765432${i}`;
    people = [0, 1, 2].map(number);
    for (const name of ['list-1', 'list-2']) await hold(name);
    people = [3, 4, 5].map(number);
    await hold('list-3');
    people = ['4915100000', '5511987654324'];
    void sends.takeIn(job('list-4'));
    await eventually(() => active().includes('list-4'));
    const [other, met] = sends.inTurn()[0]!.takeForLookUp(10, 0);
    sends.inTurn()[0]!.hold([other!.index, met!.index]);

    loaded = [];
    people = [3, 4, 5].map(number);
    sends.release('5511987654324');
    await eventually(() => active().includes('list-3'));
    expect(loaded).to.deep.equal(['list-3']);
    const numbersOf = (name: string) =>
      sends
        .inTurn()
        .find(({ messageId }) => messageId === name)!
        .takeForLookUp(10, 0)
        .map(({ to }) => to);
    expect(numbersOf('list-3')).to.deep.equal([number(4), number(3), number(5)]);
    expect(numbersOf('list-4')).to.deep.equal(['5511987654324']);
    expect(active()).to.have.members(['list-3', 'list-4']);
  });

  describe('whose recipients were all refused for now', () => {
    const find = (name: string) => sends.inTurn().find(({ messageId }) => messageId === name)!;
    /** Its people are tried, and the network is busy. Returns how many were due. */
    function refuse(name: string): number {
      const send = find(name);
      const due = send.takeForLookUp(10, nowMs);
      send.addReady(due.map(({ index }) => index));
      for (let item = takeReady(send); item; item = takeReady(send)) send.retryLater(item.recipient, nowMs);
      sends.settle();
      return due.length;
    }
    async function refuseAll(): Promise<void> {
      await fill();
      for (const name of names(PLACES)) refuse(name);
    }

    it('gives its place to a list that waits for one, and comes back when it is due', async () => {
      await refuseAll();
      expect(active(), 'no one waits for a place').to.have.length(PLACES);
      for (const name of ['next', 'after it']) await sends.takeIn(job(name));
      await eventually(() => active().includes('after it'));
      expect(active()).to.include('next');
      expect(active()).to.have.length(PLACES);
      const [first, second] = names(2);
      expect([first, second].map((name) => active().includes(name!))).to.deep.equal([false, false]);
      expect(
        [first, second].map((name) => sends.has(name!)),
        'no job leads to it twice',
      ).to.deep.equal([true, true]);
      expect(finished).to.deep.equal([]);

      loaded = [];
      nowMs += 1_999;
      sends.wake();
      expect(loaded).to.deep.equal([]);
      nowMs += 1;
      finish('next');
      finish('after it');
      sends.wake();
      await eventually(() => active().includes(first!) && active().includes(second!));
    });

    it('waits twice as long after each refusal, however often it gave up its place', async () => {
      await fill();
      for (const [i, waitMs] of [2_000, 4_000, 8_000].entries()) {
        const others = active().filter((name) => name !== 'list-0');
        expect(refuse('list-0'), `refusal ${i}`).to.equal(1);
        await sends.takeIn(job(`next-${i}`));
        await eventually(() => active().includes(`next-${i}`));
        expect(active()).to.have.members([...others, `next-${i}`]);
        finish(others[0]!);
        loaded = [];
        nowMs += waitMs - 1;
        sends.wake();
        expect(loaded).to.deep.equal([]);
        nowMs += 1;
        sends.wake();
        await eventually(() => active().includes('list-0'));
      }
    });

    it('is tried as soon as it is due where it has kept its place', async () => {
      await fill();
      refuse('list-0');
      nowMs += 2_000;
      await sends.takeIn(job('next'));
      expect(active()).to.include('list-0').and.not.include('next');
      expect(refuse('list-0')).to.equal(1);
      await eventually(() => active().includes('next'));
    });

    it('keeps its place while no other send needs it', async () => {
      await Promise.all([sends.takeIn(job('otp-1')), sends.takeIn(job('list-1'))]);
      for (const name of active()) refuse(name);
      expect(active()).to.deep.equal(['otp-1', 'list-1']);
    });

    it('is over when its time is over', async () => {
      await refuseAll();
      await sends.takeIn(job('next'));
      await eventually(() => active().includes('next'));
      sends.drop('list-0');
      expect(sends.has('list-0')).to.equal(false);
      finish('next');
      nowMs += 300_000;
      loaded = [];
      sends.wake();
      expect(loaded).to.deep.equal([]);
    });

    it('stays with its pause when those who are held beside are let go', async () => {
      people = ['4915100000', '4915100001'];
      strangers = ['4915100000'];
      await fill();
      for (const send of sends.inTurn()) {
        const [stranger, busy] = send.takeForLookUp(10, nowMs);
        send.hold([stranger!.index]);
        send.addReady([busy!.index]);
        takeReady(send);
        send.retryLater(busy!.index, nowMs);
      }
      await sends.takeIn(job('next'));
      await eventually(() => active().includes('next'));
      expect(active()).not.to.include('list-0');
      finish('next');
      sends.release('4915100000');
      await eventually(() => active().includes('list-0'));
      const send = find('list-0');
      send.addReady(send.takeForLookUp(10, nowMs).map(({ index }) => index));
      expect(takeReady(send)?.to).to.equal('4915100000');
    });
  });

  it('takes nothing in when it has stopped: the next owner finds it', async () => {
    await sends.takeIn(job('list-0'));
    const loading = sends.takeIn(job('list-1'));
    sends.stop();
    await loading;
    await sends.takeIn(job('list-2'));
    expect(active()).to.deep.equal([]);
    expect(loaded).to.deep.equal(['list-0', 'list-1']);
  });
});
