import { describeFile } from '@gateway/api/attachments/describe-file';
import { makeWav } from '@gateway/testkit/sample-files';
import { expect } from 'chai';

/** One frame, and then what looks like the beginning of one at every byte. */
function makeEndlessSound(bytes: number): Buffer {
  return Buffer.concat([Buffer.from('fff15080ff0020', 'hex'), Buffer.alloc(bytes, 0xff)]);
}

describe('what a phone is told of a sound', () => {
  it('is found out without holding up anybody, and given up when it takes too long', async () => {
    const endless = describeFile(makeEndlessSound(2 * 1024 * 1024), 'audio', 'audio/aac');
    const beats: number[] = [];
    const heart = setInterval(() => beats.push(performance.now()), 20);
    expect(await describeFile(makeWav(2), 'audio', 'audio/wav')).to.deep.equal({ seconds: 2 });
    const startedAt = performance.now();
    expect(await endless).to.deep.equal({});
    clearInterval(heart);
    expect(performance.now() - startedAt).to.be.below(8_000);
    const pauses = beats.slice(1).map((at, i) => at - beats[i]!);
    expect(Math.max(...pauses), 'the longest time in which nothing else was done').to.be.below(2_000);
    expect(await describeFile(makeWav(3), 'audio', 'audio/wav')).to.deep.equal({ seconds: 3 });
  });

  it('leaves out a length that is none', async () => {
    const wav = makeWav(1);
    // No bytes per second.
    wav.writeUInt32LE(0, 24);
    wav.writeUInt32LE(0, 28);
    wav.writeUInt16LE(0, 32);
    expect(JSON.stringify(await describeFile(wav, 'audio', 'audio/wav'))).not.to.match(/null|Infinity/);
  });
});
