import type { MediaContent, MediaType } from '@gateway/contracts/message-content';
import sharp from 'sharp';
import { Tinypool } from 'tinypool';
import { MAX_SECONDS, readMovie } from './read-movie.js';
import type { Sound } from './read-seconds.js';

export type Description = Pick<MediaContent, 'width' | 'height' | 'animated' | 'seconds' | 'thumbnail'>;

const THUMBNAIL_PIXELS = 96;
const THUMBNAIL_QUALITY = 60;
/** A few kilobytes can unpack into a picture that fills the memory. */
const MAX_PIXELS = 50_000_000;
const DECODE_SECONDS = 5;

// One file is decoded once: there is nothing to remember of it.
sharp.cache(false);
sharp.concurrency(1);

/** What a phone needs to show a file well before it has it. Of a file that cannot be read, nothing: it is sent as it is. */
export async function describeFile(bytes: Buffer, type: MediaType, mimeType: string): Promise<Description> {
  switch (type) {
    case 'image':
    case 'sticker':
      return orNothing(inTurn(() => describeImage(bytes, type)));
    case 'audio':
      return orNothing(describeSound(bytes, mimeType));
    case 'video':
      return { ...(await orNothing(describeSound(bytes, mimeType))), ...readMovie(bytes) };
    case 'document':
      return mimeType.startsWith('image/')
        ? thumbnailOnly(await orNothing(inTurn(() => describeImage(bytes, 'image'))))
        : {};
  }
}

let lastImage: Promise<unknown> = Promise.resolve();

/** One picture at a time: unpacked, fifty million pixels are 200 MB. */
function inTurn(describe: () => Promise<Description>): Promise<Description> {
  const mine = lastImage.then(describe);
  lastImage = mine.catch(() => {});
  return mine;
}

async function describeImage(bytes: Buffer, type: 'image' | 'sticker'): Promise<Description> {
  const image = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' }).timeout({ seconds: DECODE_SECONDS });
  const { autoOrient, pages = 1 } = await image.metadata();
  const { width, height } = autoOrient;
  if (type === 'sticker') return { width, height, ...(pages > 1 && { animated: true }) };
  const thumbnail = await image
    .autoOrient()
    .resize(THUMBNAIL_PIXELS, THUMBNAIL_PIXELS, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .jpeg({ quality: THUMBNAIL_QUALITY })
    .toBuffer();
  return { width, height, thumbnail: thumbnail.toString('base64') };
}

/**
 * Some files keep the reader of sounds busy for a minute, and nothing else would be answered meanwhile: it has threads of
 * its own, ended when they take too long. They are made when they are needed, and go when they are not.
 */
const sounds = new Tinypool({
  filename: new URL('./read-seconds.js', import.meta.url).href,
  ...{ minThreads: 0, maxThreads: 2, idleTimeout: 30_000 },
});

async function describeSound(bytes: Buffer, mimeType: string): Promise<Description> {
  const tooLong = new AbortController();
  const timer = setTimeout(() => tooLong.abort(), DECODE_SECONDS * 1000);
  try {
    const sound: Sound = { bytes, mimeType };
    const seconds: number | undefined = await sounds.run(sound, { signal: tooLong.signal });
    return seconds && seconds < MAX_SECONDS ? { seconds: Math.max(1, Math.round(seconds)) } : {};
  } finally {
    clearTimeout(timer);
  }
}

function thumbnailOnly({ thumbnail }: Description): Description {
  return thumbnail === undefined ? {} : { thumbnail };
}

async function orNothing(description: Promise<Description>): Promise<Description> {
  return description.catch(() => ({}));
}
