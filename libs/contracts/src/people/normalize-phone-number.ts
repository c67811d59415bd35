import { parsePhoneNumberFromString } from 'libphonenumber-js/min';

const SEPARATORS = /[\s\-.()[\]]/g;
/** `+44 (0) 7700`: to be left out when called from abroad, in most countries. */
const ZERO_IN_BRACKETS = /[([][\s\-.]*0[\s\-.]*[)\]]/;
const INTERNATIONAL = /^[1-9]\d{6,14}$/;

/**
 * Reduces what people type (`+44 7700 900-123`) to the digits the network knows.
 * Returns `undefined` when what remains is not an international number of 7 to 15 digits, or holds a 0 that is only
 * dialled inside the country: with that digit it is the number of no one, or of someone else.
 */
export function normalizePhoneNumber(input: string): string | undefined {
  if (ZERO_IN_BRACKETS.test(input)) return undefined;
  const digits = input.replace(SEPARATORS, '').replace(/^\+/, '');
  return INTERNATIONAL.test(digits) && !holdsTrunkZero(digits) ? digits : undefined;
}

/** Right behind what may be the code of a country. Most numbers have none there, and need no second look. */
const EARLY_ZERO = /^\d{1,3}0/;

/**
 * Whether digits are those of a number with its country code, and behind that the 0 of calls inside the country
 * (`44 0 7700 900123`), as the library would leave it out. A 0 that is part of the number, as in Italy and Côte d'Ivoire,
 * is none, and nor is that of a number which the library does not know: its data ages.
 */
export function holdsTrunkZero(digits: string): boolean {
  if (!EARLY_ZERO.test(digits)) return false;
  const read = parsePhoneNumberFromString(`+${digits}`, { extract: false });
  return read !== undefined && digits[read.countryCallingCode.length] === '0' && read.number !== `+${digits}`;
}
