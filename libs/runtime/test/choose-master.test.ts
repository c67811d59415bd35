import {
  chooseMaster,
  isNamedByMost,
  type NamedMaster,
  type SentinelAnswer,
} from '@gateway/runtime/redis/sentinels/choose-master';
import { expect } from 'chai';

const named = (host: string, epoch: number) => ({ host, port: 6379, epoch });
const [OLD, NEXT] = [named('old', 1), named('next', 2)];
/** @param answers of a Sentinel each. */
const choose = (answers: NamedMaster[], left?: typeof OLD, sentinels = 3, { epoch = 0 } = {}) => {
  const distinct = answers.map((answer, i) => ({ ...answer, id: `s${i}`, sentinels }));
  return chooseMaster(distinct, { left, seen: { epoch, sentinels: 0 } })?.host;
};

describe('the master that Sentinels name', () => {
  it('is that of the newest failover, if one of many knows it', () => {
    expect(choose([OLD, NEXT])).to.equal('next');
    expect(choose([OLD, OLD, NEXT])).to.equal('next');
    expect(choose([named('a', 9), named('b', 10)]), 'numbers').to.equal('b');
  });

  it('is that of most of them, where none is newer', () => {
    expect(choose([named('a', 0), named('b', 0), named('b', 0)])).to.equal('b');
  });

  it('is unknown while none answers', () => {
    expect(choose([])).to.equal(undefined);
  });

  it('is not one that was replaced because one of three still names it', () => {
    expect(choose([OLD], OLD)).to.equal(undefined);
    expect(choose([OLD, NEXT], OLD)).to.equal('next');
    expect(choose([OLD, OLD], OLD, 4), 'half of them').to.equal(undefined);
  });

  it('is one that was replaced, and has become the master again', () => {
    expect(choose([named('old', 3)], OLD)).to.equal('old');
  });

  it('is one that was replaced, where most of them say so: they were set up anew', () => {
    expect(choose([named('old', 0), named('old', 0)], OLD)).to.equal('old');
  });

  it('is not one of an older failover than some Sentinel has told of before, unless most of them say so', () => {
    expect(choose([OLD], undefined, 3, { epoch: 2 })).to.equal(undefined);
    expect(choose([OLD, OLD], undefined, 3, { epoch: 2 })).to.equal('old');
    expect(choose([OLD, NEXT], undefined, 3, { epoch: 2 })).to.equal('next');
    expect(choose([NEXT], undefined, 3, { epoch: 2 })).to.equal('next');
  });

  it('has one vote of each Sentinel, by however many addresses it is known', () => {
    const seen = { epoch: 0, sentinels: 3 };
    const [one, other] = ['a', 'b'].map((id) => ({ ...OLD, id, sentinels: 3 })) as [SentinelAnswer, SentinelAnswer];
    expect(chooseMaster([one, one], { left: OLD, seen })).to.equal(undefined);
    expect(chooseMaster([one, other], { left: OLD, seen })).to.include(OLD);
  });

  it('is not what one says that knows no others, where there were more of them when the master was chosen', () => {
    const alone = { ...OLD, id: 'a', sentinels: 1 };
    expect(chooseMaster([alone], { left: OLD, seen: { epoch: 0, sentinels: 3 } })).to.equal(undefined);
    expect(chooseMaster([alone], { left: OLD, seen: { epoch: 0, sentinels: 1 } })).to.include(OLD);
  });
});

describe('a master that most Sentinels name', () => {
  const answers = (all: NamedMaster[], sentinels = 3): SentinelAnswer[] =>
    all.map((answer, i) => ({ ...answer, id: `s${i}`, sentinels }));
  const isNamed = (all: SentinelAnswer[], seen = 0, isReached = false) =>
    isNamedByMost(all, OLD, { sentinels: seen, isReached });

  it('is named by more than half of them all, also of those that say nothing', () => {
    expect(isNamed(answers([]))).to.equal(false);
    expect(isNamed(answers([OLD]))).to.equal(false);
    expect(isNamed(answers([OLD, OLD]))).to.equal(true);
    expect(isNamed(answers([OLD, OLD], 4)), 'half of them').to.equal(false);
    expect(isNamed(answers([OLD], 1))).to.equal(true);
    expect(isNamed(answers([OLD], 1), 3), 'there were more').to.equal(false);
  });

  it('is named by each once, by however many addresses that is known', () => {
    const [one] = answers([OLD]) as [SentinelAnswer];
    expect(isNamed([one, one, one])).to.equal(false);
  });

  it('is found well by more than half of them, where that is asked for', () => {
    const inDoubt = (count: number) =>
      answers([OLD, OLD, OLD]).map((answer, i) => ({ ...answer, isInDoubt: i < count }));
    expect([0, 1, 2].map((count) => isNamed(inDoubt(count), 0, true))).to.deep.equal([true, true, false]);
    expect(isNamed(inDoubt(2))).to.equal(true);
  });

  it('is no other than that of the newest failover', () => {
    expect(isNamed(answers([OLD, OLD, NEXT]))).to.equal(false);
    expect(isNamed(answers([OLD, OLD, named('other', 0)])), 'one knows less').to.equal(true);
  });
});
