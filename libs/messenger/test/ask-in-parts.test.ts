import { askInParts } from '@gateway/messenger/lookup/ask-in-parts';
import { expect } from 'chai';

const refusal = (code: number) => Object.assign(new Error('refused'), { data: code });

describe('asking in parts', () => {
  const items = Array.from({ length: 100 }, (_, i) => i);

  function serverRefusing(bad: ReadonlySet<number>, code = 406) {
    const asked: number[][] = [];
    const ask = async (part: readonly number[]) => {
      asked.push([...part]);
      if (part.some((item) => bad.has(item))) throw refusal(code);
      return part.map((item) => `answer ${item}`);
    };
    return { asked, ask };
  }

  it('asks once when nothing is wrong', async () => {
    const { asked, ask } = serverRefusing(new Set());
    expect((await askInParts(items, ask)).answers).to.have.length(100);
    expect(asked).to.have.length(1);
  });

  it('finds the one that a hundred are refused for', async () => {
    const { asked, ask } = serverRefusing(new Set([42]));
    const { answers, refused } = await askInParts(items, ask);
    expect(answers).to.have.length(99);
    expect([...refused]).to.deep.equal([[42, 406]]);
    expect(asked.length).to.be.at.most(15);
  });

  it('stays within its queries when everything is refused, and leaves none without an answer', async () => {
    const { asked, ask } = serverRefusing(new Set(items), 400);
    const { answers, refused } = await askInParts(items, ask);
    expect(answers).to.deep.equal([]);
    expect([...refused.keys()].sort((a, b) => a - b)).to.deep.equal(items);
    expect(asked.length).to.be.at.most(48);
  });

  it('does not take a busy network for a bad name', async () => {
    const { asked, ask } = serverRefusing(new Set([1]), 503);
    const outcome = await askInParts(items, ask).catch((thrown: { data: number }) => thrown.data);
    expect(outcome).to.equal(503);
    expect(asked).to.have.length(1);
  });

  it('asks alone for those that were refused alone before, so that their neighbours recover at the next attempt', async () => {
    const bad = new Set([3, 12, 21, 34, 45, 56, 61, 72, 83, 99]);
    const before = new Map<number, number>();
    let open: readonly number[] = items;
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const { asked, ask } = serverRefusing(bad);
      const { refused } = await askInParts(open, ask, before);
      expect(asked.length).to.be.at.most(48);
      open = [...refused.keys()].sort((a, b) => a - b);
    }
    expect(open).to.deep.equal([...bad]);
    const { asked, ask } = serverRefusing(new Set());
    expect((await askInParts(items, ask, before)).refused.size).to.equal(0);
    expect(asked.map((part) => part.length)).to.deep.equal([90, ...Array(10).fill(1)]);
    expect(before.size, 'answered, so nothing is held against them').to.equal(0);
  });
});
