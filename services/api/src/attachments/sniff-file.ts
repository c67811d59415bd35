import { extname } from 'node:path';
import { MIMEType } from 'node:util';
import { MEDIA, type MediaType } from '@gateway/contracts/content/media-content';
import { supportedMimeTypes } from 'file-type';
import { lookup } from 'mime-types';
import { detectType } from './detect-type.js';

export type Sniffed =
  | { kind: 'ok' /** The MIME type that the phone gets. */; mimeType: string }
  | { kind: 'mismatch'; field: 'type' | 'mimeType' | 'content'; message: string };

/** Other names of the same thing, as people write them. */
const SYNONYMS: Record<string, string> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'audio/mp3': 'audio/mpeg',
  'audio/x-m4a': 'audio/mp4',
  'audio/m4a': 'audio/mp4',
  'audio/opus': 'audio/ogg',
  'application/ogg': 'audio/ogg',
  'video/ogg': 'audio/ogg',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/x-flac': 'audio/flac',
  'audio/aacp': 'audio/aac',
  'audio/x-aac': 'audio/aac',
  'audio/3gpp': 'video/3gpp',
  'video/x-m4v': 'video/mp4',
  'text/xml': 'application/xml',
  'application/x-zip-compressed': 'application/zip',
  'application/x-gzip': 'application/gzip',
  'application/x-rar': 'application/x-rar-compressed',
  'application/vnd.rar': 'application/x-rar-compressed',
  'text/x-vcard': 'text/vcard',
};
/** Containers whose bytes do not show whether they contain video or audio. */
const EITHER = new Set(['video/mp4', 'video/3gpp', 'video/webm', 'video/matroska', 'audio/ogg']);
/** Envelopes of many formats: their bytes do not show the format inside, but the name may. */
const ENVELOPES: Record<string, RegExp> = {
  'application/zip': /^application\//,
  'application/x-cfb': /^application\//,
  'application/xml': /\+xml$|\/html$|^application\//,
  'application/gzip': /^application\//,
};
const UNKNOWN = 'application/octet-stream';

/**
 * Detects the type of a file, and compares it with the caller's. Where the bytes do not tell, or only
 * the envelope, and the caller does not either, the ending of its name does, so that a phone knows what to open a text, a
 * table or an older office file with.
 */
export async function sniffFile(
  bytes: Buffer,
  { type, mimeType: declared, name }: { type: MediaType; mimeType?: string; name?: string },
): Promise<Sniffed> {
  if (bytes.length === 0) return { kind: 'mismatch', field: 'content', message: 'must not be empty' };
  const found = await detectType(bytes);
  if (!fits(type, found && canonical(found))) {
    return { kind: 'mismatch', field: 'type', message: `the file is not ${MEDIA[type].name}` };
  }
  if (declared !== undefined && !isSame(canonical(declared), found && canonical(found))) {
    return { kind: 'mismatch', field: 'mimeType', message: 'does not fit the file' };
  }
  return { kind: 'ok', mimeType: type === 'document' ? (declared ?? named(found, name)) : forType(type, found!) };
}

function fits(type: MediaType, found: string | undefined): boolean {
  if (type === 'document') return true;
  if (found === undefined) return false;
  if (type === 'sticker') return found === 'image/webp';
  return found.startsWith(`${type}/`) || (type !== 'image' && EITHER.has(found));
}

function isSame(declared: string, found: string | undefined): boolean {
  if (declared === found || declared === UNKNOWN) return true;
  // A format that would have been recognised was not.
  if (found === undefined) return !RECOGNISED.has(declared);
  if (EITHER.has(found) && subtype(declared) === subtype(found)) return true;
  return (ENVELOPES[found]?.test(declared) ?? false) && !RECOGNISED.has(declared);
}

/** A format that would have been detected was not, so the name is wrong. */
function mimeTypeOf(name = ''): string {
  const mimeType = lookup(extname(name));
  return mimeType && !RECOGNISED.has(canonical(mimeType)) ? mimeType : UNKNOWN;
}

/** Of an envelope, what its name says is in it, if that can be. */
function named(found: string | undefined, name: string | undefined): string {
  const mimeType = mimeTypeOf(name);
  const isIt = found === undefined || (mimeType !== UNKNOWN && isSame(canonical(mimeType), canonical(found)));
  return isIt ? mimeType : found;
}

/** Of a container, the name that fits the kind of message, and that phones know. */
function forType(type: MediaType, found: string): string {
  const isSound = type === 'audio' && (found === 'video/mp4' || found === 'audio/x-m4a');
  return isSound ? 'audio/mp4' : found;
}

function canonical(mimeType: string): string {
  const { essence } = new MIMEType(mimeType);
  return SYNONYMS[essence] ?? essence;
}

function subtype(mimeType: string): string {
  return mimeType.slice(mimeType.indexOf('/') + 1);
}

/** Its detection of text is not reliable. */
const RECOGNISED = new Set([...supportedMimeTypes].map(canonical).filter((mimeType) => !mimeType.startsWith('text/')));
