import { normalizePhoneNumber } from '@gateway/contracts/people/normalize-phone-number';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';

export interface CheckedList {
  /** Digits, each person once, as they were written first. */
  numbers: string[];
  /** Lines that hold no number. */
  bad: { line: number; text: string }[];
  duplicates: number;
}

/** A number alone, or the first cell of a line of CSV. The head of a file, which has no digits, is none of the lines. */
export function checkList(text: string): CheckedList {
  const people = new Map<string, string>();
  const bad: CheckedList['bad'] = [];
  let duplicates = 0;
  text.split(/\r?\n/).forEach((written, index) => {
    const cell = (written.split(/[,;\t]/)[0] ?? '').trim().replace(/^["']+|["']+$/g, '');
    if (cell === '' || (index === 0 && !/\d/.test(cell))) return;
    const number = normalizePhoneNumber(cell);
    if (number === undefined) bad.push({ line: index + 1, text: cell.slice(0, 40) });
    else if (people.has(canonicalPhoneNumber(number))) duplicates++;
    else people.set(canonicalPhoneNumber(number), number);
  });
  return { numbers: [...people.values()], bad, duplicates };
}
