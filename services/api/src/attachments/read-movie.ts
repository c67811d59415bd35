const BOX_HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;
/** Boxes of a track header end in a matrix and, 16.16, width and height. */
const SIZE_BYTES = 8;
/** A duration that is not known is written as all ones, or comes out as infinite. */
export const MAX_SECONDS = 24 * 60 * 60;

interface Box {
  type: string;
  content: Buffer;
}

export interface Movie {
  width?: number;
  height?: number;
  seconds?: number;
}

/** What the headers of an MP4 film say of its first picture track, as it is to be shown; nothing for other files. */
export function readMovie(file: Buffer): Movie {
  const movie = findBoxes(file, 'moov')[0];
  return movie ? { ...readSize(movie), ...readDuration(movie) } : {};
}

function readSize(movie: Buffer): Movie {
  for (const track of findBoxes(movie, 'trak')) {
    const header = findBoxes(track, 'tkhd')[0];
    if (!header || header.length < SIZE_BYTES) continue;
    const width = header.readUInt16BE(header.length - SIZE_BYTES);
    const height = header.readUInt16BE(header.length - SIZE_BYTES / 2);
    if (width > 0 && height > 0) return isTurned(header) ? { width: height, height: width } : { width, height };
  }
  return {};
}

function readDuration(movie: Buffer): Movie {
  const header = findBoxes(movie, 'mvhd')[0];
  if (!header || header.length < 32) return {};
  const isLong = header[0] === 1;
  const unitsPerSecond = header.readUInt32BE(isLong ? 20 : 12);
  const units = isLong ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16);
  const seconds = Math.round(units / unitsPerSecond);
  return seconds > 0 && seconds < MAX_SECONDS ? { seconds } : {};
}

/** Phones film upright pictures sideways, and note a turn by 90 or 270 degrees: no part of x stays x. */
function isTurned(header: Buffer): boolean {
  const matrixAt = header.length - SIZE_BYTES - 36;
  return matrixAt >= 0 && header.readInt32BE(matrixAt) === 0 && header.readInt32BE(matrixAt + 4) !== 0;
}

function findBoxes(bytes: Buffer, type: string): Buffer[] {
  return [...readBoxes(bytes)].filter((box) => box.type === type).map(({ content }) => content);
}

function* readBoxes(bytes: Buffer): Generator<Box> {
  let at = 0;
  while (at + BOX_HEADER_BYTES <= bytes.length) {
    const type = bytes.toString('latin1', at + 4, at + 8);
    const declared = bytes.readUInt32BE(at);
    const isLong = declared === 1 && at + LONG_HEADER_BYTES <= bytes.length;
    const headerBytes = isLong ? LONG_HEADER_BYTES : BOX_HEADER_BYTES;
    // 0: to the end of the file.
    const size = isLong ? Number(bytes.readBigUInt64BE(at + 8)) : declared || bytes.length - at;
    if (size < headerBytes) return;
    yield { type, content: bytes.subarray(at + headerBytes, at + size) };
    at += size;
  }
}
