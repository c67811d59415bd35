/** People who are known by a hidden identifier only go by this and its digits, where others go by their number. */
export const LID_PERSON = 'lid:';

export function isWithoutNumber(person: string): boolean {
  return person.startsWith(LID_PERSON);
}
