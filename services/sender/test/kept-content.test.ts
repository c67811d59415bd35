import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { MessageContent } from '@gateway/contracts/content/message-content';
import { KeptContent } from '@gateway/sender/preparing/kept-content';
import { expect } from 'chai';

const SENDS = 100;

describe('the content of an active send', () => {
  it('takes next to nothing of the heap where it is long, and is weighed by what it takes elsewhere', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const heapBytes = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const makeContent = (send: number): MessageContent => ({ kind: 'text', text: `${send} ${'م'.repeat(65_000)}` });
    const before = heapBytes();
    const kept = Array.from({ length: SENDS }, (_, send) => new KeptContent(makeContent(send)));
    expect((heapBytes() - before) / SENDS, 'bytes of heap for each').to.be.below(5_000);
    expect(kept[7]!.bytes).to.be.within(130_000, 131_000);
    expect(kept[7]!.read()).to.deep.equal(makeContent(7));
  });

  it('is that of each part', () => {
    const file = { type: 'image', mimeType: 'image/png', blob: 'b', blobHolder: 'h', sizeBytes: 1 } as const;
    const kept = new KeptContent({ kind: 'media', ...file, followingText: 'and this' });
    expect(kept.readPart(0)).to.include({ kind: 'media', blob: 'b' });
    expect(kept.readPart(1)).to.deep.equal({ kind: 'text', text: 'and this' });
    expect(() => kept.readPart(2)).to.throw('no content for part 2');
  });
});
