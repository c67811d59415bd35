import { crc32, deflateSync } from 'node:zlib';

/** Small genuine files of every kind, made here: their sizes and lengths are what the caller asks for. */

/** A picture of one colour. `paddingBytes` are stored as a comment, for files of any size. */
export function makePng(width: number, height: number, paddingBytes = 0): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.alloc(1 + width * 3, 0x7f);
  row[0] = 0;
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  const comment = Buffer.alloc(paddingBytes, 'x');
  comment.write('Comment\0');
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    pngChunk('IHDR', header),
    ...(paddingBytes > 0 ? [pngChunk('tEXt', comment)] : []),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A sticker of one pixel. */
export function makeWebp(): Buffer {
  return Buffer.from('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA', 'base64');
}

/** A sticker of two frames, four pixels each. */
export function makeAnimatedWebp(): Buffer {
  const base64 =
    'UklGRoQAAABXRUJQVlA4WAoAAAACAAAAAQAAAQAAQU5JTQYAAAD/////AABBTk1GKAAAAAAAAAAAAAEAAAEAAGQAAAJWUDhMDwAAAC8BQAAABxD9' +
    'j/4HIqL/AQBBTk1GKAAAAAAAAAAAAAEAAAEAAGQAAABWUDhMDwAAAC8BQAAABxDR//4HIqL/AQA=';
  return Buffer.from(base64, 'base64');
}

/** Silence. */
export function makeWav(seconds: number): Buffer {
  const rate = 8_000;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + seconds * rate, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(seconds * rate, 40);
  return Buffer.concat([header, Buffer.alloc(seconds * rate, 0x80)]);
}

/** A film without a frame: its headers say how large and how long it is. */
export function makeMp4(width: number, height: number, seconds: number): Buffer {
  const movie = Buffer.alloc(100);
  movie.writeUInt32BE(1_000, 12);
  movie.writeUInt32BE(seconds * 1_000, 16);
  const track = Buffer.alloc(84);
  track.writeUInt32BE(1, 12);
  track.writeUInt32BE(seconds * 1_000, 20);
  track.writeInt32BE(0x10000, 40);
  track.writeInt32BE(0x10000, 56);
  track.writeUInt16BE(width, 76);
  track.writeUInt16BE(height, 80);
  return Buffer.concat([
    box('ftyp', Buffer.from('isom\0\0\x02\0isommp41', 'latin1')),
    box('moov', Buffer.concat([box('mvhd', movie), box('trak', box('tkhd', track))])),
    box('mdat', Buffer.alloc(64)),
  ]);
}

export function makePdf(): Buffer {
  return Buffer.from('%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n');
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(4);
  frame.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([frame, body, sum]);
}

function box(type: string, content: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(8 + content.length);
  header.write(type, 4, 'latin1');
  return Buffer.concat([header, content]);
}
