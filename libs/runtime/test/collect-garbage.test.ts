import { collectGarbage } from '@gateway/runtime/process/collect-garbage';
import { expect } from 'chai';

const MB = 1024 * 1024;

describe('collecting garbage', () => {
  it('frees what is not in use, and leaves no way to do it behind', () => {
    // Made in a call of its own: what a frame refers to is in use.
    const before = (() => {
      const objects = Array.from({ length: 1_000_000 }, (_, i) => ({ i }));
      return process.memoryUsage().heapUsed - objects.length;
    })();
    collectGarbage();
    expect(process.memoryUsage().heapUsed).to.be.lessThan(before - 20 * MB);
    expect(globalThis).not.to.have.property('gc');
  });
});
