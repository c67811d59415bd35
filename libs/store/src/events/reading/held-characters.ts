/** Of what people wrote, in what is read of the log at a time. The longest text alone is not more. */
export const HELD_CHARACTERS = 64 * 1024;

/** Of all texts in what is told of one event. */
export function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, each) => sum + charactersIn(each), 0);
}
