import { setImmediate } from 'node:timers/promises';
import { RightOfWay } from '@gateway/messenger/socket/right-of-way';
import { expect } from 'chai';

describe('right of way', () => {
  it('keeps long work waiting until everything urgent has ended, however it ends', async () => {
    const way = new RightOfWay();
    const steps: string[] = [];
    let endFirst = () => {};
    const first = way.urgently(() => new Promise<void>((resolve) => (endFirst = resolve)));
    const second = way.urgently(async () => {
      throw new Error('no');
    });
    const long = way.giveWay().then(() => steps.push('long'));
    await second.catch(() => steps.push('second'));
    steps.push('first');
    endFirst();
    await Promise.all([first, long]);
    expect(steps).to.deep.equal(['second', 'first', 'long']);
  });

  it('keeps work waiting no longer, once what is urgent waits for it', async () => {
    const way = new RightOfWay();
    let isWanted = false;
    let hasEnded = false;
    let goOn = () => {};
    const work = way.giveWay({ unless: () => isWanted }).then(() => {
      hasEnded = true;
      goOn();
    });
    await way.urgently(async () => {
      await setImmediate();
      way.lookAgain();
      await setImmediate();
      expect(hasEnded).to.equal(false);
      isWanted = true;
      way.lookAgain();
      await new Promise<void>((resolve) => (goOn = resolve));
    });
    await work;
  });

  it('lets work that urgent work waits for go on in the next turn, however many others are to have theirs', async () => {
    let others = 0;
    const inTurn = Promise.all(Array.from({ length: 20 }, () => new RightOfWay().giveWay().then(() => others++)));
    await new RightOfWay().giveWay({ unless: () => true });
    expect(others).to.be.below(3);
    await inTurn;
  });

  it('lets work go on when nothing urgent waits', async () => {
    await new RightOfWay().giveWay();
  });
});
