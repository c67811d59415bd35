import { extension, lookup } from 'mime-types';
import { FILE_NAME } from '../http/input/shown-text.js';
import type { Attachment } from './attachment-schema.js';

/** Letters of any script, digits, and other characters of file names; with an extension. */
const PLAIN_NAME = /^[\p{L}\p{M}\p{N} _()+,.-]{1,100}\.[a-z0-9]{1,8}$/iu;

/**
 * The name that a document is shown and saved under: that of its sender, else that of its URL, else one that tells a
 * phone what to open it with. Other files are shown without a name.
 */
export function nameFile({ type, filename, url }: Attachment, mimeType: string): string | undefined {
  if (filename !== undefined || type !== 'document') return filename;
  const inUrl = nameInUrl(url);
  // Only where its ending fits the file: what is behind `/download.php` is something else.
  if (inUrl !== undefined && lookup(inUrl) === essenceOf(mimeType)) return inUrl;
  const ending = extension(mimeType);
  return ending && ending !== 'bin' ? `file.${ending}` : 'file';
}

/** What a file is called where it comes from. */
export function nameGiven({ filename, url }: Attachment): { name?: string } {
  const name = filename ?? nameInUrl(url);
  return name === undefined ? {} : { name };
}

function nameInUrl(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  const name = decode(new URL(url).pathname.split('/').at(-1) ?? '');
  return PLAIN_NAME.test(name) && FILE_NAME.test(name) ? name : undefined;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}

function essenceOf(mimeType: string): string {
  return mimeType.split(';')[0]!.trim().toLowerCase();
}
