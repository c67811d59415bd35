const BOX_HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;
/** Boxes of a track header end in a matrix and, 16.16, width and height. */
const SIZE_BYTES = 8;
/** A duration that is not known is written as all ones, or comes out as infinite. */
export const MAX_SECONDS = 24 * 60 * 60;

/** A film has a few dozen boxes above its tables; files of millions of empty ones are made to keep us busy. */
const MAX_BOXES = 1_000;
/** First boxes of MP4 files and their kin. */
const FIRST_BOXES = new Set(['ftyp', 'moov', 'mdat', 'free', 'skip', 'wide']);

/** How many more boxes of a file may be looked at. */
interface Steps {
  left: number;
}

interface Box {
  type: string;
  content: Buffer;
}

export interface Movie {
  width?: number;
  height?: number;
  seconds?: number;
}

/** Whether a file is made of boxes, as MP4, M4A, 3GP and QuickTime files are. */
export function isMovie(file: Buffer): boolean {
  return FIRST_BOXES.has(file.toString('latin1', 4, 8));
}

/** Size and length from the headers of an MP4 video's first image track, as displayed; nothing for other files. */
export function readMovie(file: Buffer): Movie {
  const steps = { left: MAX_BOXES };
  const movie = findBox(file, 'moov', steps);
  return movie ? { ...readDuration(movie, steps), ...readSize(movie, steps) } : {};
}

function readSize(movie: Buffer, steps: Steps): Movie {
  for (const { type, content: track } of readBoxes(movie, steps)) {
    const header = type === 'trak' ? findBox(track, 'tkhd', steps) : undefined;
    if (!header || header.length < SIZE_BYTES) continue;
    const width = header.readUInt16BE(header.length - SIZE_BYTES);
    const height = header.readUInt16BE(header.length - SIZE_BYTES / 2);
    if (width > 0 && height > 0) return isTurned(header) ? { width: height, height: width } : { width, height };
  }
  return {};
}

function readDuration(movie: Buffer, steps: Steps): Movie {
  const header = findBox(movie, 'mvhd', steps);
  if (!header || header.length < 32) return {};
  const isLong = header[0] === 1;
  const unitsPerSecond = header.readUInt32BE(isLong ? 20 : 12);
  const units = isLong ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16);
  const seconds = units / unitsPerSecond;
  return seconds > 0 && seconds < MAX_SECONDS ? { seconds: Math.max(1, Math.round(seconds)) } : {};
}

/** Phones record upright videos sideways, with a rotation of 90 or 270 degrees: no part of x stays x. */
function isTurned(header: Buffer): boolean {
  const matrixAt = header.length - SIZE_BYTES - 36;
  return matrixAt >= 0 && header.readInt32BE(matrixAt) === 0 && header.readInt32BE(matrixAt + 4) !== 0;
}

/** Of the first box of a type; nothing when there is none among those that may still be looked at. */
function findBox(bytes: Buffer, type: string, steps: Steps): Buffer | undefined {
  for (const box of readBoxes(bytes, steps)) if (box.type === type) return box.content;
  return undefined;
}

function* readBoxes(bytes: Buffer, steps: Steps): Generator<Box> {
  let at = 0;
  while (at + BOX_HEADER_BYTES <= bytes.length && steps.left-- > 0) {
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
