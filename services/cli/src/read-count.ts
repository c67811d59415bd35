import { InvalidArgumentError } from 'commander';

/** A whole number of at least 1, for an option. */
export function readCount(given: string): number {
  const count = Number(given);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('Expected a whole number of at least 1.');
  return count;
}
