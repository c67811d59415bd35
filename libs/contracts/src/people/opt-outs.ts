/**
 * The source of an opt-out. The order is the storage code: append only, at most `MOST_OPT_OUT_SOURCES`. What the list
 * has under a person is seconds * that + source: one integer, which a packed list keeps in nine bytes. Below 0 it is no
 * opt-out, but the number that a hidden identifier leads to.
 */
export const OPT_OUT_SOURCES = ['reply', 'api', 'cli'] as const;
export const MOST_OPT_OUT_SOURCES = 8;
export type OptOutSource = (typeof OPT_OUT_SOURCES)[number];

const HIDDEN_ID = /^(\d{1,18})@lid$/;

/** The digits of a hidden identifier in its public form (`digits@lid`); `undefined` for anything else, including phone numbers. */
export function digitsOfHiddenId(shown: string): string | undefined {
  return HIDDEN_ID.exec(shown)?.[1];
}

/** The words that count if a message says nothing else: those of the carriers' code of conduct, and their Arabic equivalents. */
const STOP_WORDS: ReadonlySet<string> = new Set([
  ...['stop', 'stopall', 'stop all', 'unsubscribe', 'cancel', 'end', 'quit', 'revoke', 'optout', 'opt out'],
  ...['ايقاف', 'اوقف', 'اوقفوا', 'وقف', 'توقف', 'توقفوا', 'قف', 'الغاء', 'الغ', 'انهاء', 'خروج', 'ستوب'],
  ...['ايقاف الرسائل', 'اوقف الرسائل', 'اوقفوا الرسائل', 'ايقاف الارسال', 'اوقف الارسال', 'توقف عن الارسال'],
  ...['ايقاف الاشتراك', 'الغاء الاشتراك', 'الغ الاشتراك', 'انهاء الاشتراك', 'ايقاف الخدمه', 'الغاء الخدمه'],
]);
/** Some carriers accept "yes"; we do not, as it answers other questions too. */
const START_WORDS: ReadonlySet<string> = new Set([
  ...['start', 'unstop', 'subscribe'],
  ...['اشتراك', 'اشترك', 'ابدا', 'استئناف'],
]);

const LONGEST_CHARACTERS = 100;

/**
 * Whether a message asks for no more messages, or for messages again. Only a message that says nothing else counts:
 * "stop" and "Stop!" do, "don't stop" does not.
 */
export function readWish(text: string): 'stop' | 'start' | undefined {
  if (text.length > LONGEST_CHARACTERS) return undefined;
  const words = plainWords(text);
  if (STOP_WORDS.has(words)) return 'stop';
  return START_WORDS.has(words) ? 'start' : undefined;
}

/**
 * Words as they are compared: without case, punctuation, symbols, vowel marks, tatweel and marks of direction, and with
 * one form for letters that people write in several.
 */
function plainWords(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[\p{Mn}\p{Cf}\u0640]/gu, '')
    .replace(/[\u0622\u0623\u0625\u0671]/g, '\u0627')
    .replace(/[\u0649\u06cc]/g, '\u064a')
    .replace(/\u0629/g, '\u0647')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
