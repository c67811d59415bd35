const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

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
      text += ALPHABET[(buffer >> bits) & 31];
    }
  }
  return bits > 0 ? text + ALPHABET[(buffer << (5 - bits)) & 31] : text;
}
