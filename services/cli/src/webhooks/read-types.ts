import { SUBSCRIBABLE_TYPES } from '@gateway/contracts/webhooks/webhook';
import { InvalidArgumentError } from 'commander';

/** Types of events, separated by commas. */
export function readTypes(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const types = SUBSCRIBABLE_TYPES.filter((type) => names.includes(type));
  if (types.length !== new Set(names).size) {
    throw new InvalidArgumentError(`Expected some of ${SUBSCRIBABLE_TYPES.join()}, separated by commas.`);
  }
  return types;
}
