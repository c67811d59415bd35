import { LIMITS } from '@gateway/contracts/limits';
import type { StringSchema } from 'joi';
import { Joi } from './input-types.js';

/** Beyond the first 65,536 characters of Unicode: joiners and fillers of scripts, signs of shorthand and music, tags. */
const UNSEEN_BEYOND = [
  [0x1107f, 0x1107f],
  [0x13430, 0x1343f],
  [0x13441, 0x13442],
  [0x16fe4, 0x16fe4],
  [0x1bca0, 0x1bca3],
  [0x1d159, 0x1d159],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
].map(([first, last]) => `${String.fromCodePoint(first!)}-${String.fromCodePoint(last!)}`);

/**
 * White space, control characters and what else phones show nothing of, as it stands in the brackets of a pattern. Spelled
 * out, as who reads the document in another language may not know Unicode's classes.
 */
const UNSEEN =
  '\\s\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e' +
  `\\u2060-\\u206f\\u2800\\u2d7f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb${UNSEEN_BEYOND.join('')}`;
const SHOWS_SOMETHING = new RegExp(`[^${UNSEEN}]`, 'u');

/** Words that a phone shows: at most so many characters, one of which is seen: the others would be an empty bubble. */
export function words(maxCharacters: number): StringSchema {
  return Joi.string()
    .max(maxCharacters)
    .pattern(SHOWS_SOMETHING)
    .messages({ 'string.pattern.base': 'must contain a visible character' })
    .custom(refuseBrokenText);
}

/** What no name has in it: what ends it, what leads elsewhere, and what turns the direction of writing (`photo[U+202E]gpj.exe`). */
const NEVER_IN_NAMES = '\\u0000-\\u001f\\u007f-\\u009f/\\\\\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u206f\\ufeff';
/**
 * Something is seen of it before its first dot, or it begins with one (`.profile`). Its ending is not pushed out of sight by a run
 * of what is not seen (`offer.pdf`, a hundred spaces, `.exe`): the flags of countries have seven such in a row.
 */
export const FILE_NAME = new RegExp(
  `^(?![.${UNSEEN}]*$)(?![${UNSEEN}]+\\.)(?!.*[${UNSEEN}]{8})[^${NEVER_IN_NAMES}]+$`,
  'u',
);

/** The name of a file, as it is shown to people and saved on their phones. */
export function fileName(): StringSchema {
  return Joi.string().max(LIMITS.maxFilenameCharacters).pattern(FILE_NAME).custom(refuseBrokenText);
}

/** Half a surrogate pair cannot be written in UTF-8: the phone would show something else than was asked for. */
function refuseBrokenText(text: string): string {
  if (!(text as string & { isWellFormed(): boolean }).isWellFormed()) throw new Error('must be well-formed Unicode');
  return text;
}
