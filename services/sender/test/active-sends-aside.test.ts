import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { jobOf as job, listNames as names, PLACES, useActiveSends } from './support/active-sends-stage.js';
import { takeReady } from './support/take.js';

describe('active sends that are set aside', () => {
  const stage = useActiveSends();
  const { active, finish, fill, hold } = stage;

  it('sets a send aside whose recipients all wait for the end of a restriction, and takes it up again', async () => {
    await fill();
    await Promise.all([stage.sends.takeIn(job('otp-1')), stage.sends.takeIn(job('next'))]);
    expect(active()).to.have.length(PLACES + 1);
    for (const send of stage.sends.inTurn().slice(0, 11))
      send.hold(send.takeForLookUp(10, 0).map(({ index }) => index));
    stage.sends.settle();
    await eventually(() => active().includes('next'));
    expect(active()).to.have.length(PLACES - 9);
    expect(stage.sends.has('otp-1')).to.equal(true);
    expect(stage.finished).to.deep.equal([]);
    stage.sends.resume();
    await eventually(() => active().length === PLACES + 1);
    expect(active()[0], 'an OTP is never parked').to.equal('otp-1');
    expect(stage.sends.has('list-9')).to.equal(true);
  });

  it('loads what is here once more when it has ended, or before it goes aside, where Redis may have forgotten something', async () => {
    const loadedOnceMore = (name: string) => eventually(() => active().includes(name) && stage.loaded.includes(name));
    const holdAll = () => {
      const [send] = stage.sends.inTurn();
      send!.hold(send!.takeForLookUp(10, 0).map(({ index }) => index));
      stage.sends.settle();
    };
    const loading = stage.sends.takeIn(job('list-0'));
    stage.sends.distrustRedis();
    await loading;
    stage.loaded = [];
    finish('list-0');
    await loadedOnceMore('list-0');
    stage.loaded = [];
    finish('list-0');
    expect(stage.sends.has('list-0')).to.equal(false);

    await stage.sends.takeIn(job('list-1'));
    stage.sends.distrustRedis();
    stage.loaded = [];
    holdAll();
    await loadedOnceMore('list-1');
    holdAll();
    expect(active()).to.deep.equal([]);
    expect(stage.sends.has('list-1')).to.equal(true);
    stage.sends.drop('list-1');

    await stage.sends.takeIn(job('list-2'));
    stage.sends.distrustRedis();
    stage.sends.drop('list-2');
    stage.sends.settle();
    expect(stage.sends.has('list-2')).to.equal(false);
  });

  it('loads what has just gone aside to be held, where Redis may have forgotten that it is, and nothing that has been aside for long', async () => {
    await hold('list-0');
    stage.nowMs += 5 * 60_000 + 1;
    await hold('list-1');
    stage.loaded = [];
    stage.sends.distrustRedis();
    await eventually(() => active().includes('list-1'));
    expect(stage.loaded).to.deep.equal(['list-1']);
    const [send] = stage.sends.inTurn();
    send!.hold(send!.takeForLookUp(10, 0).map(({ index }) => index));
    stage.sends.settle();
    expect(active()).to.deep.equal([]);
    expect(['list-0', 'list-1'].map((name) => stage.sends.has(name))).to.deep.equal([true, true]);
  });

  it('names one of those who wait for the end of a restriction, of a send at work or aside', async () => {
    expect(await stage.sends.findHeld(() => true)).to.equal(undefined);
    await hold('list-0');
    expect(active()).to.deep.equal([]);
    expect(await stage.sends.findHeld(() => true)).to.equal('4915100000');
    stage.people = ['4915100001', '4915100002'];
    void stage.sends.takeIn(job('list-1'));
    const send = await eventually(() => stage.sends.inTurn().find(({ messageId }) => messageId === 'list-1'));
    expect(await stage.sends.findHeld(() => true), 'no recipient of that one waits yet').to.equal('4915100000');
    send.hold(send.takeForLookUp(1, 0).map(({ index }) => index));
    expect(await stage.sends.findHeld(() => true)).to.equal('4915100001');
    expect(await stage.sends.findHeld((number) => number !== '4915100001')).to.equal('4915100000');
    stage.sends.release('4915100000');
    stage.sends.release('4915100001');
    await eventually(() => active().includes('list-0'));
    expect(await stage.sends.findHeld(() => true)).to.equal(undefined);
  });

  it('takes up only the sends of the one who wrote, and them first', async () => {
    const number = (i: number) => `55118765432${i}`;
    stage.people = [0, 1, 2].map(number);
    for (const name of ['list-1', 'list-2']) await hold(name);
    stage.people = [3, 4, 5].map(number);
    await hold('list-3');
    stage.people = ['4915100000', '5511987654324'];
    void stage.sends.takeIn(job('list-4'));
    await eventually(() => active().includes('list-4'));
    const [other, met] = stage.sends.inTurn()[0]!.takeForLookUp(10, 0);
    stage.sends.inTurn()[0]!.hold([other!.index, met!.index]);

    stage.loaded = [];
    stage.people = [3, 4, 5].map(number);
    stage.sends.release('5511987654324');
    await eventually(() => active().includes('list-3'));
    expect(stage.loaded).to.deep.equal(['list-3']);
    const numbersOf = (name: string) =>
      stage.sends
        .inTurn()
        .find(({ messageId }) => messageId === name)!
        .takeForLookUp(10, 0)
        .map(({ to }) => to);
    expect(numbersOf('list-3')).to.deep.equal([number(4), number(3), number(5)]);
    expect(numbersOf('list-4')).to.deep.equal(['5511987654324']);
    expect(active()).to.have.members(['list-3', 'list-4']);
  });

  it('takes up the sends of one who wrote while Redis was away, once it is back', async () => {
    await hold('list-1');
    stage.isRedisAway = true;
    stage.sends.release('4915100000');
    stage.sends.wake();
    await eventually(() => stage.broken.includes('Redis is away'));
    expect(active()).to.deep.equal([]);
    stage.isRedisAway = false;
    stage.sends.wake();
    await eventually(() => active().includes('list-1'));
  });

  describe('whose recipients were all refused for now', () => {
    const find = (name: string) => stage.sends.inTurn().find(({ messageId }) => messageId === name)!;
    /** Its stage.people are tried, and the network is busy. Returns how many were due. */
    function refuse(name: string): number {
      const send = find(name);
      const due = send.takeForLookUp(10, stage.nowMs);
      send.addReady(due.map(({ index }) => index));
      for (let item = takeReady(send); item; item = takeReady(send)) send.retryLater(item.recipient, stage.nowMs);
      stage.sends.settle();
      return due.length;
    }
    async function refuseAll(): Promise<void> {
      await fill();
      for (const name of names(PLACES)) refuse(name);
    }

    it('gives its place to a list that waits for one, and comes back when it is due', async () => {
      await refuseAll();
      expect(active(), 'no one waits for a place').to.have.length(PLACES);
      for (const name of ['next', 'after it']) await stage.sends.takeIn(job(name));
      await eventually(() => active().includes('after it'));
      expect(active()).to.include('next');
      expect(active()).to.have.length(PLACES);
      const [first, second] = names(2);
      expect([first, second].map((name) => active().includes(name!))).to.deep.equal([false, false]);
      expect(
        [first, second].map((name) => stage.sends.has(name!)),
        'no job leads to it twice',
      ).to.deep.equal([true, true]);
      expect(stage.finished).to.deep.equal([]);

      stage.loaded = [];
      stage.nowMs += 1_999;
      stage.sends.wake();
      expect(stage.loaded).to.deep.equal([]);
      stage.nowMs += 1;
      finish('next');
      finish('after it');
      stage.sends.wake();
      await eventually(() => active().includes(first!) && active().includes(second!));
    });

    it('waits for a place once it is due, behind those that came before and ahead of those that come later', async () => {
      await fill();
      refuse('list-0');
      for (const name of ['next', 'before']) await stage.sends.takeIn(job(name));
      await eventually(() => active().includes('next'));
      stage.nowMs += 2_000;
      for (let wakes = 0; wakes < 3; wakes++) stage.sends.wake();
      await stage.sends.takeIn(job('later'));
      stage.loaded = [];
      for (const [i, name] of ['before', 'list-0', 'later'].entries()) {
        finish(`list-${i + 1}`);
        await eventually(() => active().includes(name));
      }
      finish('list-4');
      expect(stage.loaded, 'each once').to.deep.equal(['before', 'list-0', 'later']);
    });

    it('waits twice as long after each refusal, however often it gave up its place', async () => {
      await fill();
      for (const [i, waitMs] of [2_000, 4_000, 8_000].entries()) {
        const others = active().filter((name) => name !== 'list-0');
        expect(refuse('list-0'), `refusal ${i}`).to.equal(1);
        await stage.sends.takeIn(job(`next-${i}`));
        await eventually(() => active().includes(`next-${i}`));
        expect(active()).to.have.members([...others, `next-${i}`]);
        finish(others[0]!);
        stage.loaded = [];
        stage.nowMs += waitMs - 1;
        stage.sends.wake();
        expect(stage.loaded).to.deep.equal([]);
        stage.nowMs += 1;
        stage.sends.wake();
        await eventually(() => active().includes('list-0'));
      }
    });

    it('comes back at once where its pause was begun while the clock was ahead', async () => {
      await refuseAll();
      await stage.sends.takeIn(job('next'));
      await eventually(() => active().includes('next'));
      finish('next');
      stage.nowMs -= 60 * 60_000;
      stage.sends.wake();
      await eventually(() => active().includes('list-0'));
    });

    it('is tried as soon as it is due where it has kept its place', async () => {
      await fill();
      refuse('list-0');
      stage.nowMs += 2_000;
      await stage.sends.takeIn(job('next'));
      expect(active()).to.include('list-0').and.not.include('next');
      expect(refuse('list-0')).to.equal(1);
      await eventually(() => active().includes('next'));
    });

    it('keeps its place while no other send needs it', async () => {
      await Promise.all([stage.sends.takeIn(job('otp-1')), stage.sends.takeIn(job('list-1'))]);
      for (const name of active()) refuse(name);
      expect(active()).to.deep.equal(['otp-1', 'list-1']);
    });

    it('is over when its time is over', async () => {
      await refuseAll();
      await stage.sends.takeIn(job('next'));
      await eventually(() => active().includes('next'));
      stage.sends.drop('list-0');
      expect(stage.sends.has('list-0')).to.equal(false);
      finish('next');
      stage.nowMs += 300_000;
      stage.loaded = [];
      stage.sends.wake();
      expect(stage.loaded).to.deep.equal([]);
    });

    it('stays with its pause when those who are held beside are let go', async () => {
      stage.people = ['4915100000', '4915100001'];
      stage.strangers = ['4915100000'];
      await fill();
      for (const send of stage.sends.inTurn()) {
        const [stranger, busy] = send.takeForLookUp(10, stage.nowMs);
        send.hold([stranger!.index]);
        send.addReady([busy!.index]);
        takeReady(send);
        send.retryLater(busy!.index, stage.nowMs);
      }
      await stage.sends.takeIn(job('next'));
      await eventually(() => active().includes('next'));
      expect(active()).not.to.include('list-0');
      finish('next');
      stage.sends.release('4915100000');
      await eventually(() => active().includes('list-0'));
      const send = find('list-0');
      send.addReady(send.takeForLookUp(10, stage.nowMs).map(({ index }) => index));
      expect(takeReady(send)?.to).to.equal('4915100000');
    });
  });
});
