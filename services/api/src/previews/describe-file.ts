import { parseBuffer } from 'music-metadata';
import sharp from 'sharp';
import { isPicture } from './is-picture.js';
import { coefficientBytes } from './jpeg-coefficients.js';
import type { Description, PreviewJob } from './preview-job.js';
import { isMovie, MAX_SECONDS, readMovie } from './read-movie.js';

const THUMBNAIL_PIXELS = 96;
const THUMBNAIL_QUALITY = 60;
/** A few kilobytes can decode to an image that fills the memory: for larger ones only the size is given. */
const MAX_PIXELS = 16_000_000;
const MAX_DECODED_BYTES = 64_000_000;
const BYTES_PER_SAMPLE: Record<string, number> = { uchar: 1, char: 1, ushort: 2, short: 2 };

// Each file is decoded only once, so nothing is cached.
sharp.cache(false);
sharp.concurrency(1);
// All other formats of the library are disabled, also for a file that pretends to be of another kind.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadNsgifBuffer',
    'VipsForeignLoadWebpBuffer',
  ],
});

/**
 * What a phone needs to show a file before the download. Rejects if the file cannot be read. A stranger made the
 * file, and it may keep its reader busy for minutes: run it where it can be ended.
 */
export async function describeFile(bytes: Buffer, { type, mimeType }: PreviewJob): Promise<Description> {
  switch (type) {
    case 'image':
      return describeImage(bytes);
    case 'sticker':
      return describeSticker(bytes);
    case 'document':
      return thumbnailOnly(await describeImage(bytes));
    case 'audio':
      return readLength(bytes, mimeType);
    case 'video':
      return isMovie(bytes) ? readMovie(bytes) : readLength(bytes, mimeType);
  }
}

async function describeImage(bytes: Buffer): Promise<Description> {
  if (!isPicture(bytes)) return {};
  const image = sharp(bytes, { failOn: 'error' });
  const { autoOrient, width, height, channels, depth, format, isProgressive } = await image.metadata();
  const decodedBytes = width * height * channels * (BYTES_PER_SAMPLE[depth] ?? 4);
  const heldBytes = format === 'jpeg' && isProgressive ? coefficientBytes(bytes) : 0;
  if (width * height > MAX_PIXELS || Math.max(decodedBytes, heldBytes) > MAX_DECODED_BYTES) return sizeOf(autoOrient);
  const thumbnail = await image
    .autoOrient()
    .resize(THUMBNAIL_PIXELS, THUMBNAIL_PIXELS, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .jpeg({ quality: THUMBNAIL_QUALITY })
    .toBuffer();
  return { ...sizeOf(autoOrient), thumbnail: thumbnail.toString('base64') };
}

async function describeSticker(bytes: Buffer): Promise<Description> {
  if (!isPicture(bytes)) return {};
  const { autoOrient, pages = 1 } = await sharp(bytes, { failOn: 'error' }).metadata();
  return { ...sizeOf(autoOrient), ...(pages > 1 && { animated: true }) };
}

function sizeOf({ width, height }: { width: number; height: number }): Description {
  return { width, height };
}

function thumbnailOnly({ thumbnail }: Description): Description {
  return thumbnail === undefined ? {} : { thumbnail };
}

/** Counts every frame of files that do not contain the number. */
async function readLength(bytes: Buffer, mimeType: string): Promise<Description> {
  if (isMovie(bytes)) {
    const { seconds } = readMovie(bytes);
    return seconds === undefined ? {} : { seconds };
  }
  const options = { duration: true, skipCovers: true };
  const { duration } = (await parseBuffer(bytes, { mimeType, size: bytes.length }, options)).format;
  return duration && duration < MAX_SECONDS ? { seconds: Math.max(1, Math.round(duration)) } : {};
}
