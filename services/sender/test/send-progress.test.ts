import { IllegalMoveError } from '@gateway/sender/scheduling/places';
import { expect } from 'chai';
import { lookUp, openSend, recipient, take } from './support/open-send.js';
import { takeAlone, takeReady } from './support/take.js';

describe('SendProgress', () => {
  it('makes no illegal move, and reports it', () => {
    const send = openSend();
    const [first] = lookUp(send, { limit: 2 });
    expect(() => send.addReady([2]), 'not looked up')
      .to.throw(IllegalMoveError)
      .with.nested.property('fields.from', 'waiting');
    send.addReady([first!]);
    const { recipient: taken } = takeReady(send)!;
    send.settled(taken);
    for (const move of [() => send.putBack([taken]), () => send.settled(taken), () => send.retryLater(taken, 0)]) {
      expect(move, 'settled is settled').to.throw(IllegalMoveError);
    }
    const reported: unknown[] = [];
    const lenient = openSend([recipient(0)], (error) => reported.push(error.fields));
    take(lenient);
    lenient.settled(0);
    lenient.putBack([0]);
    expect(reported).to.deep.equal([{ recipientIndex: 0, from: 'settled', to: 'waiting' }]);
    expect(lenient.isDone, 'it is where it was').to.equal(true);
  });

  it('looks up a bounded number of those who are to come later, and leaves its place to other sends meanwhile', () => {
    const send = openSend(Array.from({ length: 700 }, (_, index) => recipient(index)));
    const postponed: number[] = [];
    for (let batch = lookUp(send); batch.length > 0; batch = lookUp(send)) {
      send.addReady(batch);
      for (const index of batch) send.postpone(index, 1_000 + index);
      postponed.push(...batch);
    }
    expect(postponed).to.have.length(500);
    expect([send.wantsToGo, send.hasReady, send.isDone]).to.deep.equal([false, false, false]);
    const rest = { untilMs: 1_000, attempts: 0, uploadAttempts: 0 };
    expect(send.restAt(0), 'until the first of them is due').to.deep.equal(rest);
    expect(lookUp(send, { nowMs: 1_000 }), 'the others first').to.deep.equal([
      500, 501, 502, 503, 504, 505, 506, 507, 508, 509,
    ]);
    expect(send.restAt(1_000)).to.equal(undefined);
  });

  it('looks up others however many pause after an attempt', () => {
    const send = openSend(Array.from({ length: 700 }, (_, index) => recipient(index)));
    const [first, ...others] = lookUp(send, { limit: 600 });
    send.addReady([first!]);
    send.postpone(first!, 1_000);
    for (const index of others) send.retryLater(index, 0);
    expect(lookUp(send)).to.have.length(10);
  });

  it('gives its place up until the last pause after an attempt is over, whatever gates said of others', () => {
    const send = openSend();
    send.addReady(lookUp(send));
    send.postpone(0, 1_000);
    send.postpone(1, 9_000);
    takeReady(send);
    send.retryLater(2, 0);
    expect(send.restAt(0)).to.deep.equal({ untilMs: 2_000, attempts: 1, uploadAttempts: 0 });
    send.dropCancelled();
    expect(send.isDone, 'they have nothing yet').to.equal(true);
  });

  it('works on those who are still queued, first on those whose phones may have the message already', () => {
    const send = openSend([recipient(0), recipient(1, 'sent', 1), recipient(2, 'queued', 1), recipient(3)]);
    expect(lookUp(send)).to.deep.equal([2, 0, 3]);
  });

  it('is done when all recipients are settled, and not before', () => {
    const send = openSend([recipient(0)]);
    expect(send.isDone).to.equal(false);
    const item = take(send)!;
    expect(item).to.include({ recipient: 0, part: 0, to: '491510000000' });
    expect(send.isDone, 'in flight').to.equal(false);
    send.settled(0);
    expect(send.isDone).to.equal(true);
    expect(openSend([recipient(0, 'read', 1)]).isDone, 'nothing to do').to.equal(true);
  });

  it('hands out no recipient twice', () => {
    const send = openSend();
    expect(lookUp(send)).to.deep.equal([0, 1, 2]);
    expect(lookUp(send)).to.deep.equal([]);
    send.addReady([0, 1, 2]);
    const taken = [takeReady(send), takeReady(send), takeReady(send), takeReady(send)];
    expect(taken.map((item) => item?.recipient)).to.deep.equal([0, 1, 2, undefined]);
  });

  it('looks up a batch ahead of what is sent, and one batch at a time', () => {
    const send = openSend();
    expect(lookUp(send, { limit: 2 })).to.deep.equal([0, 1]);
    send.lookingUp = 1;
    expect(lookUp(send, { limit: 2 })).to.deep.equal([]);
    send.lookingUp = 0;
    send.addReady([0, 1]);
    expect(lookUp(send, { limit: 2 }), 'enough are ready').to.deep.equal([]);
    takeReady(send);
    expect(lookUp(send, { limit: 2 }), 'enough are ready').to.deep.equal([]);
    expect(send.takeForLookUp(2, 0, { enough: 2 }), 'where more are enough').to.have.length(1);
    send.putBack([2]);
    takeReady(send);
    expect(lookUp(send, { limit: 2 })).to.deep.equal([2]);
  });

  it('has the next batch looked up beside the one before where so many are enough', () => {
    const send = openSend();
    const lookUpNext = () => send.takeForLookUp(1, 0, { enough: 2 }).map(({ index }) => index);
    for (const index of [0, 1]) {
      expect(lookUpNext()).to.deep.equal([index]);
      send.lookingUp += 1;
    }
    expect(lookUpNext()).to.deep.equal([]);
    send.addReady([0]);
    send.lookingUp -= 1;
    expect(lookUpNext(), 'one is ready, and one being looked up').to.deep.equal([]);
    takeReady(send);
    expect(lookUpNext()).to.deep.equal([2]);
  });

  it('first retries recipients whose outcome is unknown', () => {
    const send = openSend();
    const { recipient: lost } = take(send)!;
    send.forgetLookUps();
    send.putBack([lost]);
    expect(lookUp(send)).to.deep.equal([0, 1, 2]);
  });

  it('makes another attempt after a pause that doubles, behind the others', () => {
    const send = openSend();
    send.addReady(lookUp(send).slice(0, 1));
    send.putBack([1, 2]);
    let nowMs = 0;
    for (const pauseMs of [2_000, 4_000, 8_000]) {
      expect(takeReady(send)?.recipient).to.equal(0);
      send.retryLater(0, nowMs);
      expect(send.isDone).to.equal(false);
      expect(lookUp(send, { nowMs: nowMs + pauseMs - 1 })).not.to.include(0);
      send.putBack([1, 2]);
      nowMs += pauseMs;
      expect(lookUp(send, { nowMs })).to.deep.equal([1, 2, 0]);
      send.putBack([1, 2]);
      send.addReady([0]);
    }
  });

  it('never pauses for longer than five minutes', () => {
    const send = openSend([recipient(0)]);
    let nowMs = 0;
    for (let i = 0; i < 30; i++) {
      expect(take(send, nowMs)?.recipient).to.equal(0);
      send.retryLater(0, nowMs);
      nowMs += 5 * 60_000;
    }
  });

  it('makes another attempt at once where the pause was begun while the clock was ahead', () => {
    const [hourMs, pauseMs] = [60 * 60_000, 5 * 60_000];
    const send = openSend([recipient(0)]);
    for (let i = 0; i < 20; i++) {
      expect(take(send, i * pauseMs)?.recipient).to.equal(0);
      send.retryLater(0, i * pauseMs);
    }
    const nowMs = 19 * pauseMs;
    expect(lookUp(send, { nowMs }), 'a pause as long as any').to.deep.equal([]);
    expect(send.restAt(nowMs)?.untilMs).to.equal(nowMs + pauseMs);
    expect(send.restAt(nowMs - hourMs)).to.equal(undefined);
    expect(lookUp(send, { nowMs: nowMs - hourMs })).to.deep.equal([0]);
  });

  it('sends a message that got no answer again at once, and then after pauses: it must not hold up the others', () => {
    const send = openSend();
    expect(take(send)?.recipient).to.equal(0);
    send.unanswered(0, 0);
    expect(lookUp(send)).to.deep.equal([0]);
    send.addReady([0]);
    takeReady(send);
    takeReady(send);
    expect(takeReady(send)?.recipient).to.equal(0);
    send.unanswered(0, 0);
    expect(lookUp(send, { nowMs: 1_999 })).to.deep.equal([]);
    expect(lookUp(send, { nowMs: 2_000 })).to.deep.equal([0]);
  });

  it('drops at a cancel all whose phones cannot show it, and goes on with the others', () => {
    const send = openSend([recipient(0), recipient(1), recipient(2), recipient(3, 'queued', 1)]);
    send.addReady(lookUp(send));
    const taken = [takeReady(send), takeReady(send), takeReady(send)].map((item) => item?.recipient);
    expect(taken).to.deep.equal([3, 0, 1]);
    send.putBack([3]);
    send.retryLater(0, 0);
    send.unanswered(1, 0);
    send.dropCancelled();
    expect(send.hasReady).to.equal(false);
    expect(lookUp(send, { nowMs: 2_000 })).to.deep.equal([1, 3]);
  });

  it('takes whom the network refused in the turn of the list, and not before the others', () => {
    const refused = { ...recipient(2, 'queued', 1), partsInFlight: 0 };
    expect(lookUp(openSend([recipient(0), recipient(1), refused]))).to.deep.equal([0, 1, 2]);
  });

  it('remembers whom the network has refused as strangers before, after a hand-over too', () => {
    const send = openSend([recipient(0), { ...recipient(1), errorCode: 463 }, { ...recipient(2), errorCode: 10 }]);
    const refusals = [0, 1, 2].map((index) => send.noteRefusal(index));
    expect(refusals).to.deep.equal([false, true, false]);
    expect(send.noteRefusal(0)).to.equal(true);
  });

  describe('whose owners ended with messages in flight, one after the other', () => {
    const lost = (index: number, attempts: number, atMs = 0) => ({ ...recipient(index, 'queued', attempts), atMs });

    it('goes on with all others first, and with those later and alone', () => {
      const send = openSend([lost(0, 3), lost(1, 2), recipient(2)]);
      expect([send.isDone, send.isSuspect]).to.deep.equal([false, false]);
      send.addReady(lookUp(send, { nowMs: 1_999 }));
      expect([takeReady(send), takeReady(send), takeReady(send)].map((item) => item?.recipient)).to.deep.equal([
        1,
        2,
        undefined,
      ]);
      expect(send.hasAlone).to.equal(false);
      send.addReady(lookUp(send, { nowMs: 2_000 }));
      expect([send.hasReady, send.hasAlone]).to.deep.equal([false, true]);
      expect(takeAlone(send)?.recipient).to.equal(0);
    });

    it('first tries who had the most attempts: a list that ends them all is found after the fewest ends', () => {
      const send = openSend([lost(0, 1), lost(1, 1), recipient(2), lost(3, 2), lost(4, 2)]);
      expect(lookUp(send)).to.deep.equal([3, 4, 0, 1, 2]);
    });

    it('waits longer after each of them', () => {
      const send = openSend([lost(0, 4)]);
      expect(lookUp(send, { nowMs: 3_999 })).to.deep.equal([]);
      expect(lookUp(send, { nowMs: 4_000 })).to.deep.equal([0]);
    });

    it('is suspect as a whole with two of them: after a pause all go out alone, the suspects last', () => {
      const send = openSend([lost(0, 5), lost(1, 3, 4_000), recipient(2), lost(3, 1, 2_000)]);
      expect([send.isSuspect, send.suspicion]).to.deep.equal([true, 2]);
      expect(lookUp(send, { nowMs: 19_999 })).to.deep.equal([]);
      expect(send.rests, 'its place is for others').to.equal(true);
      send.addReady(lookUp(send, { nowMs: 20_000 }));
      expect(send.hasReady).to.equal(false);
      const taken = [0, 1, 2, 3].map(() => takeAlone(send)?.recipient);
      expect(taken).to.deep.equal([3, 2, 1, 0]);
      send.settled(1);
      expect(send.isSuspect, 'one of them was innocent').to.equal(false);
    });

    it('waits no longer because many were in flight when their owners ended', () => {
      const many = Array.from({ length: 20 }, (_, i) => lost(i, 3, 10_000 + i * 20));
      const send = openSend([...many, recipient(20)]);
      expect(lookUp(send, { limit: 30, nowMs: 12_379 })).to.deep.equal([]);
      expect(lookUp(send, { limit: 30, nowMs: 12_380 })).to.have.length(21);
    });

    it('waits no longer because the network stood still while they were in flight', () => {
      const bursts = [1_000, 4_000, 7_000, 10_000, 13_000];
      const many = bursts.flatMap((atMs, i) => [0, 1, 2, 3].map((n) => lost(4 * i + n, 3, atMs + n)));
      const send = openSend([...many, recipient(20)]);
      expect(lookUp(send, { limit: 30, nowMs: 15_002 })).to.deep.equal([]);
      expect(lookUp(send, { limit: 30, nowMs: 15_003 })).to.have.length(21);
    });

    it('trusts a message again of which this owner saw what became of it', () => {
      const send = openSend([lost(0, 9)]);
      send.addReady(lookUp(send, { nowMs: 600_000 }));
      takeAlone(send);
      send.retryLater(0, 600_000);
      expect(take(send, 602_000)?.recipient).to.equal(0);
    });

    it('goes on distrusting one who could not be looked up', () => {
      const send = openSend([lost(0, 3)]);
      expect(lookUp(send, { nowMs: 2_000 })).to.deep.equal([0]);
      send.retryLater(0, 2_000);
      send.addReady(lookUp(send, { nowMs: 4_000 }));
      expect([send.hasReady, send.hasAlone]).to.deep.equal([false, true]);
      send.settled(0);
      expect(send.suspicion).to.equal(0);
    });

    it('does not distrust those whom the network refused for now', () => {
      const send = openSend([{ ...lost(0, 9), partsInFlight: 0 }]);
      expect(take(send)?.recipient).to.equal(0);
    });

    it('looks up again, with the others, those who must go out alone, and drops them when it expires', () => {
      const send = openSend([lost(0, 3)]);
      send.addReady(lookUp(send, { nowMs: 2_000 }));
      send.forgetLookUps();
      expect(send.hasAlone).to.equal(false);
      send.addReady(lookUp(send));
      expect(send.rests, 'it is due').to.equal(false);
      send.dropWaiting();
      expect(send.isDone).to.equal(true);
    });
  });

  it('drops everything when its time is over, but waits for what is in flight', () => {
    const send = openSend();
    take(send);
    send.dropWaiting();
    expect(send.hasReady).to.equal(false);
    expect(send.isDone).to.equal(false);
    send.settled(0);
    expect(send.isDone).to.equal(true);
  });

  it('looks up all recipients again for another session, in the same order', () => {
    const send = openSend();
    send.addReady(lookUp(send, { limit: 2 }));
    send.forgetLookUps();
    expect(send.hasReady).to.equal(false);
    expect(lookUp(send)).to.deep.equal([0, 1, 2]);
  });
});
