const SEPARATORS = /[\s\-.()[\]]/g;
const INTERNATIONAL = /^[1-9]\d{6,14}$/;

/**
 * Reduces what people type (`+44 7700 900-123`) to the digits the network knows.
 * Returns `undefined` when what remains is not an international number of 7 to 15 digits.
 */
export function normalizePhoneNumber(input: string): string | undefined {
  const digits = input.replace(SEPARATORS, '').replace(/^\+/, '');
  return INTERNATIONAL.test(digits) ? digits : undefined;
}

/** A number as logs may show it: the first digits tell the country, the last two tell neighbours apart. */
export function maskPhoneNumber(digits: string): string {
  return digits.length < 7 ? '***' : `${digits.slice(0, 3)}***${digits.slice(-2)}`;
}
