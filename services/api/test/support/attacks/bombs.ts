import { constants, crc32, deflateRawSync } from 'node:zlib';
import sharp from 'sharp';

/** Where the seven passes of an interlaced PNG begin, and how far apart their pixels are. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** A whole interlaced picture of 16 bits a channel, all of it transparent: a thousandth of what it unpacks to. */
export function makeInterlacedPng(width: number, height: number): Buffer {
  const rows = PASSES.map(([x, y, dx, dy]) => ({
    width: Math.ceil((width - x) / dx),
    count: Math.ceil((height - y) / dy),
  }));
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([16, 6, 0, 0, 1], 8);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateZeros(rows.reduce((sum, row) => sum + row.count * (1 + row.width * 8), 0))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A progressive JPEG that says it is as large as that. */
export async function makeProgressiveJpeg(width: number, height: number, chromaSubsampling: string): Promise<Buffer> {
  const tiny = sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } });
  const jpeg = await tiny.jpeg({ progressive: true, chromaSubsampling }).toBuffer();
  const frame = jpeg.indexOf(Buffer.from('ffc2', 'hex'));
  jpeg.writeUInt16BE(height, frame + 5);
  jpeg.writeUInt16BE(width, frame + 7);
  return jpeg;
}

/** A film that begins with so many boxes without anything in them. */
export function makeEmptyBoxes(count: number): Buffer {
  const boxes = Buffer.alloc(8 * count);
  for (let at = 0; at < boxes.length; at += 8) {
    boxes.writeUInt32BE(8, at);
    boxes.write('free', at + 4);
  }
  const type = Buffer.from('\0\0\0\x18ftypisom\0\0\x02\0isommp41', 'latin1');
  return Buffer.concat([type, boxes]);
}

/** One frame, and then what looks like the beginning of one at every byte. */
export function makeEndlessSound(bytes: number): Buffer {
  return Buffer.concat([Buffer.from('fff15080ff0020', 'hex'), Buffer.alloc(bytes, 0xff)]);
}

/** As if all of it had been packed: one block of a megabyte, over and over. */
function deflateZeros(bytes: number): Buffer {
  const blockBytes = 1024 * 1024;
  const block = deflateRawSync(Buffer.alloc(blockBytes), { finishFlush: constants.Z_FULL_FLUSH });
  const blocks = Array.from({ length: Math.floor(bytes / blockBytes) }, () => block);
  const sum = Buffer.alloc(4);
  sum.writeUInt16BE(bytes % 65_521, 0);
  sum.writeUInt16BE(1, 2);
  return Buffer.concat([Buffer.from('789c', 'hex'), ...blocks, deflateRawSync(Buffer.alloc(bytes % blockBytes)), sum]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
