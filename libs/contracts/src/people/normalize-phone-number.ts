import { holdsTrunkZero } from './holds-trunk-zero.js';

const SEPARATORS = /[\s\-.()[\]]+/g;
/** `+44 (0) 7700`: to be left out when called from abroad, in most countries. */
const ZERO_IN_BRACKETS = /[([][\s\-.]*0[\s\-.]*[)\]]/;
const INTERNATIONAL = /^[1-9]\d{6,14}$/;

/**
 * Reduces what people type (`+44 7700 900-123`) to the digits the network knows.
 * Returns `undefined` when what remains is not an international number of 7 to 15 digits, or holds a 0 that is only
 * dialled inside the country: with that digit the number does not exist, or belongs to someone else.
 */
export function normalizePhoneNumber(input: string): string | undefined {
  if (ZERO_IN_BRACKETS.test(input)) return undefined;
  const digits = input.replace(SEPARATORS, '').replace(/^\+/, '');
  return INTERNATIONAL.test(digits) && !holdsTrunkZero(digits) ? digits : undefined;
}
