import { monitorEventLoopDelay } from 'node:perf_hooks';
import { readHistory } from '@gateway/messenger/history/read-history';
import { expect } from 'chai';

const HISTORY_BYTES = 64 * 1024 * 1024;
const LONGEST_BLOCK_MS = 500;
/** Often enough to see a block, and one before and after it. */
const SAMPLE_MS = 5;

/** 64 MB inflated, which is 65 KB in the message. */
const filledWith = (...bytes: number[]) => Buffer.alloc(HISTORY_BYTES, Buffer.from(bytes));

/** One conversation: everything else of it is inside. */
function nested(): Buffer {
  const head = Buffer.from([0x12, 0xfb, 0xff, 0xff, 0x1f]);
  return Buffer.concat([head, filledWith(0x12, 0x00).subarray(head.length)]);
}

describe('a history of millions of empty parts', () => {
  const kinds = {
    conversations: () => filledWith(0x12, 0x00),
    mappings: () => filledWith(0x7a, 0x00),
    settings: () => filledWith(0x42, 0x00),
    'numbers of no meaning': () => filledWith(0x08, 0x00),
    'parts of one conversation': nested,
  };
  for (const [what, make] of Object.entries(kinds)) {
    it(`is refused, and other work goes on meanwhile: ${what}`, async () => {
      const bytes = make();
      const delay = monitorEventLoopDelay({ resolution: SAMPLE_MS });
      await new Promise((resolve) => setTimeout(resolve, 4 * SAMPLE_MS));
      delay.enable();
      await new Promise((resolve) => setTimeout(resolve, 4 * SAMPLE_MS));
      const failure = await readHistory(bytes).then(() => 'none', String);
      await new Promise((resolve) => setTimeout(resolve, 4 * SAMPLE_MS));
      delay.disable();
      expect(failure).to.contain('too many fields');
      expect(delay.max / 1e6).to.be.lessThan(LONGEST_BLOCK_MS);
    });
  }
});
