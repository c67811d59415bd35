import { AsyncValue } from '@gateway/runtime/process/async-value';
import { expect } from 'chai';

describe('values that follow work', () => {
  const [one, other] = [new AsyncValue<number>(), new AsyncValue<number>()];
  const both = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return [one.get(), other.get()];
  };

  it('are told apart; an inner one replaces its own until the inner work ends', async () => {
    await one.run(1, async () => {
      const inner = other.run(2, () => one.run(3, both));
      expect(await both()).to.deep.equal([1, undefined]);
      expect(await inner).to.deep.equal([3, 2]);
    });
    expect(await both()).to.deep.equal([undefined, undefined]);
  });

  it('make promises no heavier, however many they are', async () => {
    const burden = () => Object.getOwnPropertySymbols(new Promise(() => {})).length;
    const of = (values: AsyncValue<number>[]): number =>
      values.reduce((work, value) => () => value.run(1, work), burden)();
    const first = of([one]);
    expect(of([one, other, ...Array.from({ length: 5 }, () => new AsyncValue<number>())])).to.equal(first);
  });
});
