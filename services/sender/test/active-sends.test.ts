import { LIMITS } from '@gateway/contracts/limits';
import { UNREAD_BYTES } from '@gateway/sender/scheduling/memory-budget';
import { MAX_FOUND } from '@gateway/sender/scheduling/waiting-lists';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { jobOf as job, listNames as names, PLACES, useActiveSends } from './support/active-sends-stage.js';
import { takeNext } from './support/take.js';

describe('the active sends of a device', () => {
  const stage = useActiveSends();
  const { active, finish, fill, fillBeside } = stage;

  it('says at once that an OTP is to be loaded, and that it waits until its message goes out', async () => {
    void stage.sends.takeIn(job('list-1'));
    expect([stage.codes, stage.sends.hasWaitingOtp]).to.deep.equal([0, false]);
    void stage.sends.takeIn(job('otp-1'));
    expect([stage.codes, stage.sends.hasWaitingOtp]).to.deep.equal([1, true]);
    await eventually(() => active().includes('otp-1'));
    for (const send of stage.sends.inTurn()) {
      const [recipient] = send.takeForLookUp(1, stage.nowMs);
      send.addReady([recipient!.index]);
    }
    expect(stage.sends.hasReady({ otpOnly: true })).to.equal(true);
    expect(stage.sends.hasWaitingOtp).to.equal(true);
    expect(takeNext(stage.sends)?.send.messageId).to.equal('otp-1');
    expect(stage.sends.hasWaitingOtp).to.equal(false);
    expect(stage.sends.hasReady({ otpOnly: true })).to.equal(false);
  });

  it('takes a send in once more, when it has left, that a job told of meanwhile: it may have been accepted anew', async () => {
    void stage.sends.takeIn(job('list-1'));
    await eventually(() => active().includes('list-1'));
    await stage.sends.takeIn(job('list-1'));
    await stage.sends.takeIn(job('list-1'));
    expect([stage.loaded, stage.noted]).to.deep.equal([['list-1'], ['list-1', 'list-1']]);
    finish('list-1');
    await eventually(() => active().includes('list-1'));
    expect(stage.loaded, 'and once for all jobs').to.deep.equal(['list-1', 'list-1']);
    finish('list-1');
    expect([active(), stage.loaded.length]).to.deep.equal([[], 2]);

    const gone = [stage.sends.takeIn(job('list-gone')), stage.sends.takeIn(job('list-gone'))];
    await Promise.all(gone);
    expect(stage.loaded.slice(2), 'while it was being read').to.deep.equal(['list-gone', 'list-gone']);
  });

  it('leaves lists without a place in Redis, and gives them one in the order of their arrival', async () => {
    await fill();
    const waiting = names(1_000, PLACES);
    stage.open = names(PLACES + 1_000);
    for (const name of waiting) await stage.sends.takeIn(job(name));
    expect(active()).to.have.length(PLACES);
    expect(stage.loaded, 'nothing of them is read').to.have.length(PLACES);
    expect(stage.noted).to.deep.equal(waiting);
    expect(stage.sends.ids(), 'nothing of them is kept').to.deep.equal(active());
    await stage.sends.takeIn(job(waiting[5]!));
    expect(active(), 'a second job').to.have.length(PLACES);
    for (const name of names(3)) finish(name);
    await eventually(() => active().length === PLACES);
    expect(active().slice(-3)).to.deep.equal(waiting.slice(0, 3));
    expect(stage.finished).to.deep.equal(names(3));
  });

  it('finds the open lists of a former owner, each once and in the order in which they were accepted', async () => {
    const all = names(1_000);
    stage.open = [...all];
    stage.sends.takeInLists();
    for (const name of all) {
      await eventually(() => active().includes(name), { everyMs: 0 });
      expect(active().length).to.be.at.most(PLACES);
      stage.open = stage.open.filter((one) => one !== name);
      finish(name);
    }
    expect(stage.loaded).to.deep.equal(all);
    expect(stage.finished).to.deep.equal(all);
    expect(stage.pages, 'pages').to.be.at.most(12);
    expect(stage.sends.ids()).to.deep.equal([]);
  });

  it('reads no page twice while nothing new is open, and finds what opens behind many others', async () => {
    stage.open = names(PLACES + MAX_FOUND + 50);
    stage.sends.takeInLists();
    await eventually(() => active().length === PLACES);
    stage.open.push('late');
    await stage.sends.takeIn(job('late'));
    const before = stage.pages;
    for (let i = 0; i < 10; i++) stage.sends.settle();
    expect(stage.pages).to.equal(before);
    for (const name of names(PLACES + MAX_FOUND + 50)) {
      await eventually(() => active().includes(name), { everyMs: 0 });
      stage.open = stage.open.filter((one) => one !== name);
      finish(name);
    }
    await eventually(() => active().includes('late'));
  });

  it('asks again a second after the open sends could not be read', async () => {
    const readable = stage.open;
    Object.defineProperty(readable, 'slice', {
      value: () => {
        throw new Error('away');
      },
    });
    stage.sends.takeInLists();
    await eventually(() => stage.broken.length === 1);
    stage.open = ['list-0'];
    stage.nowMs += 999;
    stage.sends.wake();
    expect(stage.broken).to.deep.equal(['away']);
    stage.nowMs += 1;
    stage.sends.wake();
    await eventually(() => active().includes('list-0'));
  });

  describe('whose owners ended one after the other', () => {
    const isCareful = true;
    async function open(...messageIds: string[]): Promise<void> {
      for (const messageId of messageIds) void stage.sends.takeIn(job(messageId));
      await eventually(() => active().length === messageIds.length);
      for (const send of stage.sends.inTurn())
        send.addReady(send.takeForLookUp(10, stage.nowMs).map(({ index }) => index));
    }

    it('takes a suspect after all others, of whichever list', async () => {
      stage.suspects.set('list-1', 1);
      stage.people = ['4915100000', '4915100001'];
      await open('list-1', 'list-2');
      const taken = [];
      while (!stage.sends.wantsAlone({ isCareful })) taken.push(takeNext(stage.sends)!);
      expect(taken.map(({ send, recipient }) => `${send.messageId} ${recipient}`)).to.deep.equal([
        ...['list-2 0', 'list-2 1', 'list-1 1'],
      ]);
      expect(stage.sends.nextAlone).to.include({ recipient: 0 });
    });

    it('takes a suspect at once where its owners lasted, for it may be innocent', async () => {
      stage.suspects.set('list-1', 1);
      await open('list-1', 'list-2');
      expect(stage.sends.wantsAlone({ isCareful: false })).to.equal(true);
      expect(stage.sends.wantsAlone({ isCareful })).to.equal(false);
    });

    it('takes nothing of a list with two suspects before an owner has lasted, nor before all other lists', async () => {
      stage.suspects.set('list-1', 2);
      stage.people = ['4915100000', '4915100001', '4915100002'];
      await open('list-1', 'list-2');
      for (const recipient of [0, 1, 2]) {
        expect(stage.sends.wantsAlone({ isCareful: false })).to.equal(false);
        expect(takeNext(stage.sends)).to.deep.include({ recipient }).and.nested.include({ 'send.messageId': 'list-2' });
      }
      expect(stage.sends.hasReady({ otpOnly: false })).to.equal(false);
      expect(stage.sends.wantsAlone({ isCareful })).to.equal(false);
      expect(stage.sends.wantsAlone({ isCareful: false })).to.equal(true);
    });
  });

  it('has as many places for lists while any number of OTPs is stuck', async () => {
    for (let i = 0; i < PLACES; i++) await stage.sends.takeIn(job(`otp-${i}`));
    stage.nowMs += 1_000;
    await fillBeside(PLACES);
    await stage.sends.takeIn(job('list-more'));
    expect(active()).to.have.length(2 * PLACES);
    finish('list-0');
    await eventually(() => active().includes('list-more'));
  });

  it('has one list at a time while all devices take what memory there is, OTPs beside it, and more when there is some', async () => {
    const others = stage.memory.maxBytes;
    stage.memory.take(others);
    for (const name of [...names(3), 'otp-1']) await stage.sends.takeIn(job(name));
    expect(active()).to.deep.equal(['otp-1', 'list-0']);
    finish('list-0');
    await eventually(() => active().includes('list-1'));
    expect(active()).to.deep.equal(['otp-1', 'list-1']);
    expect(stage.memory.heldBytes).to.be.within(others + 8_000, others + 20_000);
    stage.memory.giveBack(others);
    stage.sends.wake();
    await eventually(() => active().includes('list-2'));
    for (const name of active()) finish(name);
    expect(stage.memory.heldBytes).to.equal(0);
    await fill();
    stage.sends.stop();
    expect(stage.memory.heldBytes, 'of a device that goes').to.equal(0);
  });

  it('takes in no more of the lists of a former owner than there is memory for, and one, and the others in their turn', async () => {
    const all = names(PLACES);
    stage.open = [...all];
    stage.text = 'x'.repeat(LIMITS.maxTextCharacters);
    stage.memory.take(stage.memory.maxBytes - 4 * UNREAD_BYTES);
    let mostBytes = 0;
    stage.sends.takeInLists();
    for (const name of all) {
      await eventually(() => active().includes(name), { everyMs: 0 });
      mostBytes = Math.max(mostBytes, stage.memory.heldBytes);
      stage.open.shift();
      finish(name);
    }
    expect(stage.loaded).to.deep.equal(all);
    expect(mostBytes).to.be.within(stage.memory.maxBytes - 2 * UNREAD_BYTES, stage.memory.maxBytes + UNREAD_BYTES);
  });

  it('always has a place for an OTP', async () => {
    await fill();
    await stage.sends.takeIn(job('otp-1'));
    expect(active()[0]).to.equal('otp-1');
    finish('otp-1');
    expect(stage.sends.has('otp-1')).to.equal(false);
  });

  it('gives the place of one that cannot be loaded, or is over, to the next', async () => {
    await fill();
    for (const name of ['broken', 'gone', 'expired', 'last']) await stage.sends.takeIn(job(name));
    stage.sends.drop('expired');
    finish('list-0');
    await eventually(() => active().includes('last'));
    expect(stage.broken).to.deep.equal(['broken of r']);
    expect(stage.loaded).not.to.include('expired');
    stage.loaded = [];
    stage.nowMs += 59_999;
    stage.sends.wake();
    expect(stage.loaded).to.deep.equal([]);
    finish('last');
    stage.nowMs += 1;
    stage.sends.wake();
    await eventually(() => stage.loaded.includes('broken'));
  });

  it('takes nothing in when it has stopped: the next owner finds it', async () => {
    await stage.sends.takeIn(job('list-0'));
    const loading = stage.sends.takeIn(job('list-1'));
    stage.sends.stop();
    await loading;
    await stage.sends.takeIn(job('list-2'));
    expect(active()).to.deep.equal([]);
    expect(stage.loaded).to.deep.equal(['list-0', 'list-1']);
  });
});
