import { LIMITS } from '@gateway/contracts/limits';
import { MEDIA_TYPES, type MediaType } from '@gateway/contracts/message-content';
import { isPlainHttpUrl } from '../egress/fetch-url.js';
import { Joi, refuseBrokenText, words } from '../input-types.js';

/** A file to send, as the caller gives it: exactly one of `url` and `base64`. */
export interface Attachment {
  type: MediaType;
  url?: string;
  base64?: string;
  filename?: string;
  caption?: string;
  mimeType?: string;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be in it.
const FILE_NAME = /^(?!\.{1,2}$)[^\u0000-\u001f\u007f-\u009f/\\]+$/;
const ONE_SOURCE = 'exactly one of url and base64 must be provided';

export const attachmentSchema = Joi.object<Attachment>({
  type: Joi.string()
    .valid(...MEDIA_TYPES)
    .required()
    .description('What the file is shown as. The bytes must be of that kind; stickers are WebP images.'),
  url: Joi.string()
    .max(LIMITS.maxAttachmentUrlCharacters)
    .custom(refuseStrangeUrl)
    .description(
      'Where to fetch the file: http or https, a public address, no credentials. It is fetched once, while you wait: ' +
        `up to ${LIMITS.attachmentFetchSeconds} seconds and ${LIMITS.maxAttachmentRedirects} redirects, ${LIMITS.attachmentFetchesPerToken} files at a time for a token.`,
    ),
  base64: Joi.string().custom(refuseBrokenBase64).description('The file itself.'),
  filename: Joi.string()
    .max(LIMITS.maxFilenameCharacters)
    .pattern(FILE_NAME)
    .custom(refuseBrokenText)
    .description(
      'The name that a document is shown and saved under. Without it that of the URL is, if its ending fits, or `file.pdf`.',
    ),
  caption: words(LIMITS.maxCaptionCharacters).description(
    'Shown with the file; without it `text` is. Stickers and sounds take none: it follows as a message. Like `text` it ' +
      'must show something.',
  ),
  mimeType: Joi.string()
    .max(255)
    .pattern(/^[\w.+-]+\/[\w.+-]+(; ?[\w.+-]+="?[\w.+-]+"?)*$/)
    .description(
      'What the file is; checked against its bytes, and found out from them, else from its name, when it is left out.',
    ),
})
  .xor('url', 'base64')
  .messages({ 'object.missing': ONE_SOURCE, 'object.xor': ONE_SOURCE });

function refuseStrangeUrl(text: string): string {
  // The parser would drop what may not be in a URL, and go on with something else than what was written.
  if (/[\p{Cc}\s]/u.test(text) || !URL.canParse(text) || !isPlainHttpUrl(new URL(text))) {
    throw new Error('must be an http or https URL without credentials');
  }
  return text;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function refuseBrokenBase64(text: string): string {
  if (text.length % 4 !== 0 || !BASE64.test(text)) throw new Error('must be base64 with padding');
  return text;
}
