import { normalizePerson } from '@gateway/contracts/people/normalize-person';

/**
 * The phone numbers, and hidden identifiers, of a text with one a line, or of the first column of a CSV file. A first line of names, empty lines
 * and lines that begin with `#` are passed over.
 * @returns `invalidLines`: numbers of the other lines without a phone number, from 1 on.
 */
export function readNumbers(content: string): { numbers: string[]; invalidLines: number[] } {
  const numbers: string[] = [];
  const invalidLines: number[] = [];
  for (const [index, line] of content
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    const cell = (line.split(/[,;\t]/)[0] ?? '')
      .trim()
      .replace(/^["'](.*)["']$/, '$1')
      .trim();
    if (cell === '' ? line.trim() === '' : cell.startsWith('#')) continue;
    const person = normalizePerson(cell);
    if (person !== undefined) numbers.push(person);
    else if (index > 0 || /\d/.test(cell)) invalidLines.push(index + 1);
  }
  return { numbers, invalidLines };
}
