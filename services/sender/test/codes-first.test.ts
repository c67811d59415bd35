import { defer } from '@gateway/runtime/deferred';
import { CodesFirst } from '@gateway/sender/dispatching/codes-first';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

const NONE = { hasWaiting: false };
const ONE = { hasWaiting: true };

describe('one-time passwords and the device', () => {
  let nowMs: number;
  /** Pieces of urgent work: whether each has ended. */
  let urgent: { hasEnded: boolean }[];
  let ends: number;
  let codes: CodesFirst;

  beforeEach(() => {
    nowMs = 5_000;
    urgent = [];
    ends = 0;
    codes = new CodesFirst(
      { nowMs: () => nowMs, monotonicMs: () => nowMs },
      (work) => {
        const piece = { hasEnded: false };
        urgent.push(piece);
        void work().then(() => {
          piece.hasEnded = true;
        });
      },
      () => void ends++,
    );
  });
  const written = (settled: Promise<void>) => Promise.resolve({ answered: settled, settled });
  const haveEnded = () => urgent.map(({ hasEnded }) => hasEnded);

  it('have it from the first that is heard of them to the answer, and what is urgent lasts as long', async () => {
    expect(codes.haveDevice(NONE)).to.equal(false);
    codes.goOn();
    expect(codes.haveDevice(ONE)).to.equal(true);
    const verdict = defer<void>();
    codes.follow(written(verdict.promise));
    expect(codes.haveDevice(NONE), 'it is being written').to.equal(true);
    expect(haveEnded()).to.deep.equal([false]);
    verdict.resolve();
    await eventually(() => ends === 1);
    expect(codes.haveDevice(NONE)).to.equal(false);
    await eventually(() => urgent[0]!.hasEnded);
  });

  it('have it as one as long as any of them is on its way', async () => {
    codes.goOn();
    codes.goOn();
    const [first, second] = [defer<undefined>(), defer<undefined>()];
    codes.follow(first.promise);
    codes.follow(second.promise);
    first.resolve(undefined);
    await eventually(() => ends === 1);
    expect(codes.haveDevice(NONE)).to.equal(true);
    second.resolve(undefined);
    await eventually(() => ends === 2);
    expect(codes.haveDevice(NONE)).to.equal(false);
    await eventually(() => urgent.every(({ hasEnded }) => hasEnded));
    codes.goOn();
    expect(haveEnded()).to.deep.equal([true, false]);
  });

  it('leave it to the lists where they are not written after all, and where the answer takes longer than a near network does', async () => {
    codes.goOn();
    codes.follow(Promise.resolve(undefined));
    await eventually(() => ends === 1);
    codes.follow(Promise.reject(new Error('fenced')));
    await eventually(() => ends === 2);
    codes.follow(written(new Promise(() => {})));
    await eventually(() => ends === 3);
    expect(codes.haveDevice(NONE)).to.equal(false);
  });

  it('leave it to the lists after a second, whatever they wait for', async () => {
    codes.goOn();
    codes.follow(new Promise(() => {}));
    nowMs += 999;
    expect(codes.haveDevice(ONE)).to.equal(true);
    nowMs += 1;
    expect(codes.haveDevice(ONE)).to.equal(false);
    await eventually(() => urgent[0]!.hasEnded);
    codes.goOn();
    expect(codes.haveDevice(ONE), 'the next one has a second of its own').to.equal(true);
  });

  it('have a second more with each step that they go on', async () => {
    codes.goOn();
    nowMs += 999;
    codes.goOn();
    nowMs += 999;
    codes.follow(new Promise(() => {}));
    nowMs += 999;
    expect(codes.haveDevice(NONE)).to.equal(true);
    expect(haveEnded()).to.deep.equal([false]);
    nowMs += 1;
    expect(codes.haveDevice(NONE)).to.equal(false);
  });

  it('leave it to the lists by themselves then, though no one asks meanwhile', async () => {
    codes.goOn();
    await eventually(() => ends === 1);
    await eventually(() => urgent[0]!.hasEnded);
    expect(codes.haveDevice(ONE)).to.equal(false);
  });

  it('hold nothing up where the owner ends', async () => {
    codes.goOn();
    codes.stop();
    await eventually(() => urgent[0]!.hasEnded);
  });
});
