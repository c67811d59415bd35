import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';

const SIDE = 64;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A profile picture for a number: a square of its own colour, as PNG. */
export function drawPicture(name: string): Buffer {
  const colour = createHash('sha256').update(name).digest().subarray(0, 3);
  const row = Buffer.concat([Buffer.from([0]), ...Array<Buffer>(SIDE).fill(colour)]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIDE, 0);
  header.writeUInt32BE(SIDE, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const pixels = deflateSync(Buffer.concat(Array<Buffer>(SIDE).fill(row)));
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
