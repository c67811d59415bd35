import { MEDIA_TYPES, type MediaType } from '@gateway/contracts/content/media-content';
import { LIMITS } from '@gateway/contracts/limits';
import { Joi } from '../http/input/input-types.js';
import { fileName, words } from '../http/input/shown-text.js';
import type { InlineFile } from './inline-file.js';

/** A file to send, as the caller gives it: exactly one of `url` and `base64`. */
export interface Attachment {
  type: MediaType;
  url?: string;
  base64?: InlineFile;
  filename?: string;
  caption?: string;
  mimeType?: string;
}

const ONE_SOURCE = 'exactly one of url and base64 must be provided';

export const attachmentSchema = Joi.object<Attachment>({
  type: Joi.string()
    .valid(...MEDIA_TYPES)
    .required()
    .description('How phones show the file. The bytes must be of that kind; stickers are WebP images.'),
  url: Joi.httpUrl().description(
    'Where to fetch the file: http or https, a public address, no credentials. It is fetched once, before the answer: ' +
      `up to ${LIMITS.attachmentFetchSeconds} seconds and ${LIMITS.maxAttachmentRedirects} redirects, ${LIMITS.attachmentFetchesPerToken} files at a time for a token.`,
  ),
  base64: Joi.inlineFile().description('The file itself, up to 10 MB.'),
  filename: fileName().description(
    'The name under which phones show and save a document. Default: the name in the URL if its extension fits, else `file.pdf`.',
  ),
  caption: words(LIMITS.maxCaptionCharacters).description(
    'Shown with the file; default: `text`. Stickers and audio have no caption: it follows as a message of its own. Like ' +
      '`text` it must contain a visible character.',
  ),
  mimeType: Joi.string()
    .max(255)
    .pattern(/^[\w.+-]+\/[\w.+-]+(; ?[\w.+-]+="?[\w.+-]+"?)*$/)
    .description(
      'MIME type of the file; checked against its bytes. Default: detected from the bytes, else from the name.',
    ),
})
  .xor('url', 'base64')
  .messages({ 'object.missing': ONE_SOURCE, 'object.xor': ONE_SOURCE });
