import { Standing } from '@gateway/store/core/confirming/standing';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const FRESH_MS = 1_000;

describe('what a process knows of its master', () => {
  let nowMs: number;
  let stands: boolean;
  let questions: number;
  let standing: Standing;
  beforeEach(() => {
    [nowMs, stands, questions] = [5_000, true, 0];
    standing = new Standing({
      masterStands: async () => {
        questions++;
        return stands;
      },
      ...{
        clock: { monotonicMs: () => nowMs },
        logger: silentLogger,
        freshMs: FRESH_MS,
        meanwhile: 'nothing is begun',
      },
    });
  });
  /** Lets an answer arrive. */
  const arrive = () => new Promise((resolve) => setImmediate(resolve));

  it('is nothing before it has asked', async () => {
    expect(standing.stands()).to.equal(false);
    await standing.assert();
    expect(standing.stands()).to.equal(true);
  });

  it('is asked ahead for those who come all the time: none of them waits, and none asks twice in half the time', async () => {
    await standing.assert();
    for (let i = 0; i < 40; i++) {
      nowMs += FRESH_MS / 20;
      expect(standing.stands(), `after ${nowMs}`).to.equal(true);
      await arrive();
    }
    expect(questions).to.equal(1 + 4);
  });

  it('counts for no longer than it is fresh, and not at all once it may have been replaced', async () => {
    await standing.assert();
    nowMs += FRESH_MS;
    expect(standing.stands(), 'too old').to.equal(false);
    await arrive();
    expect(standing.stands(), 'asked anew').to.equal(true);
    stands = false;
    nowMs += FRESH_MS / 2;
    expect(standing.stands(), 'not yet known').to.equal(true);
    await arrive();
    expect(standing.stands()).to.equal(false);
  });
});
