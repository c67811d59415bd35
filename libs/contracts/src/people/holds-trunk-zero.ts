import { parsePhoneNumberFromString } from 'libphonenumber-js/min';

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
