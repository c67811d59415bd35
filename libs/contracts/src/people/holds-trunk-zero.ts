import { getCountries, getCountryCallingCode, parsePhoneNumberFromString } from 'libphonenumber-js/min';

/** Of countries. None begins with another one. */
const CALLING_CODES = new Set<string>(getCountries().map((country) => getCountryCallingCode(country)));

/** The library takes 10 us for a number, as long as all other steps together: it is only used if there may be a superfluous 0. */
function hasZeroBehindCode(digits: string): boolean {
  for (const length of [1, 2, 3]) if (CALLING_CODES.has(digits.slice(0, length))) return digits[length] === '0';
  return false;
}

/**
 * Whether digits are those of a number with its country code, and behind that the 0 of calls inside the country
 * (`44 0 7700 900123`), as the library would leave it out. A 0 that is part of the number, as in Italy and Côte d'Ivoire,
 * is none, and nor is that of a number which the library does not know: its data ages.
 */
export function holdsTrunkZero(digits: string): boolean {
  if (!hasZeroBehindCode(digits)) return false;
  const read = parsePhoneNumberFromString(`+${digits}`, { extract: false });
  return read !== undefined && digits[read.countryCallingCode.length] === '0' && read.number !== `+${digits}`;
}
