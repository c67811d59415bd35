export const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';

/** Crockford's base 32 in lower case: no letters that people mistake for digits, safe in URLs, keys and job ids. */
export function toBase32(bytes: Uint8Array): string {
  let bits = 0;
  let buffer = 0;
  let text = '';
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32[(buffer >> bits) & 31];
    }
  }
  return bits > 0 ? text + BASE32[(buffer << (5 - bits)) & 31] : text;
}

/** The whole bytes in a text made by `toBase32`; the caller has checked its alphabet. */
export function fromBase32(text: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let buffer = 0;
  for (const character of text) {
    buffer = ((buffer << 5) | BASE32.indexOf(character)) & 0xffff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((buffer >> bits) & 0xff);
  }
  return Buffer.from(bytes);
}
