import { randomBytes } from 'node:crypto';
import { CollectedBytes, freeBytes } from '@gateway/runtime/bytes/collected-bytes';
import { expect } from 'chai';

const MEGABYTE = 1024 * 1024;

describe('bytes that are collected', () => {
  it('are what came, in pieces of any size, as bytes or as base64', () => {
    for (const size of [1, 700, 100_000]) {
      const all = randomBytes(3 * 300_000);
      const [bytes, decoded] = [new CollectedBytes(all.length), new CollectedBytes(all.length)];
      for (let at = 0; at < all.length; at += size) bytes.push(all.subarray(at, at + size));
      for (let at = 0; at < all.length; at += 3 * size)
        decoded.pushBase64(all.subarray(at, at + 3 * size).toString('base64'));
      expect(bytes.toBuffer().equals(all), `pieces of ${size}`).to.equal(true);
      expect(decoded.toBuffer().equals(all), `pieces of ${size} in base64`).to.equal(true);
    }
    expect(new CollectedBytes(10).toBuffer()).to.have.length(0);
  });

  it('are no more than were said to come', () => {
    const collected = new CollectedBytes(200_000);
    collected.push(Buffer.alloc(200_000));
    expect(() => collected.push(Buffer.alloc(1))).to.throw(RangeError);
    expect(collected.length).to.equal(200_000);
  });

  it('take the memory that they have, not what may come, and none once they are freed', () => {
    const before = process.memoryUsage.rss();
    const took = () => (process.memoryUsage.rss() - before) / MEGABYTE;
    const collected = new CollectedBytes(200 * MEGABYTE);
    const piece = Buffer.alloc(MEGABYTE, 1);
    for (let i = 0; i < 40; i++) collected.push(piece);
    const most = took();
    expect(most).to.be.below(100);
    const bytes = collected.toBuffer();
    freeBytes(bytes);
    freeBytes(bytes);
    expect(bytes, 'for what still refers to them').to.have.length(0);
    expect(most - took()).to.be.above(30);
    freeBytes(Buffer.from('others stay as they are'));
  });
});
