import { extension, lookup } from 'mime-types';
import { FILE_NAME } from '../http/input/shown-text.js';
import type { Attachment } from './attachment-schema.js';

/** Letters of any script, digits, and other characters of file names; with an extension. */
const PLAIN_NAME = /^[\p{L}\p{M}\p{N} _()+,.-]{1,100}\.[a-z0-9]{1,8}$/iu;

/**
 * The name under which phones show and save a document: the caller's, else that of the URL, else one that tells a
 * phone what to open it with. Other files are shown without a name.
 */
export function nameFile({ type, filename, url }: Attachment, mimeType: string): string | undefined {
  if (filename !== undefined || type !== 'document') return filename;
  const inUrl = nameInUrl(url);
  // Only if its extension fits the file: not with `/download.php`.
  if (inUrl !== undefined && lookup(inUrl) === essenceOf(mimeType)) return inUrl;
  const ending = extension(mimeType);
  return ending && ending !== 'bin' ? `file.${ending}` : 'file';
}

/** The original name of a file. */
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
