import { UploadSlots } from '@gateway/sender/upload-slots';
import { expect } from 'chai';

describe('UploadSlots', () => {
  it('lets so many run at a time, the others in their order, also past failures', async () => {
    const slots = new UploadSlots(2);
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const results = [0, 1, 2, 3].map((index) =>
      slots.use(async () => {
        started.push(index);
        await new Promise<void>((resolve) => ends.push(resolve));
        if (index === 0) throw new Error('upload failed');
        return index;
      }),
    );
    const failed = results[0]!.catch((error: Error) => error.message);
    expect(started).to.deep.equal([0, 1]);
    ends[0]!();
    expect(await failed).to.equal('upload failed');
    expect(started).to.deep.equal([0, 1, 2]);
    ends[1]!();
    ends[2]!();
    expect(await Promise.all([results[1], results[2]])).to.deep.equal([1, 2]);
    expect(started).to.deep.equal([0, 1, 2, 3]);
    ends[3]!();
    await results[3];
  });
});
