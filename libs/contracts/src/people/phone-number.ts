/** A number as logs may show it: the first digits tell the country, the last two tell neighbours apart. */
export function maskPhoneNumber(digits: string): string {
  return digits.length < 7 ? '***' : `${digits.slice(0, 3)}***${digits.slice(-2)}`;
}

/**
 * Countries whose mobile numbers are written in two ways; both are mapped to the second. Brazil put a 9 in front of its
 * mobile numbers (landlines begin with 2 to 5), Mexico dropped the 1 after its code, Argentina puts a 9 there for calls
 * from abroad. The network knows people by either form.
 */
const TWO_WAYS: readonly [written: RegExp, canonical: string, canonicalForm: RegExp, otherWay: string][] = [
  [/^55([1-9]\d)([6-9]\d{7})$/, '55$19$2', /^55([1-9]\d)9([6-9]\d{7})$/, '55$1$2'],
  [/^521(\d{10})$/, '52$1', /^52(\d{10})$/, '521$1'],
  [/^54([1-8]\d{9})$/, '549$1', /^549([1-8]\d{9})$/, '54$1'],
];

/** One form for all the ways to write a number: two numbers with the same are one person. */
export function canonicalPhoneNumber(digits: string): string {
  for (const [written, canonical] of TWO_WAYS) if (written.test(digits)) return digits.replace(written, canonical);
  return digits;
}

/** All the ways to write a number, its canonical form first. */
export function spellingsOf(digits: string): string[] {
  const number = canonicalPhoneNumber(digits);
  const ways = TWO_WAYS.find(([, , form]) => form.test(number));
  return ways ? [number, number.replace(ways[2], ways[3])] : [number];
}
