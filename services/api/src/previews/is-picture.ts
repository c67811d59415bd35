/** Signatures of the formats that are decoded. No other format is, whatever the name or type of a file. */
const BEGINNINGS = ['ffd8ff', '89504e470d0a1a0a', Buffer.from('GIF8').toString('hex')].map((hex) =>
  Buffer.from(hex, 'hex'),
);

/** Whether a file begins as a JPEG, PNG, GIF or WebP picture. */
export function isPicture(bytes: Buffer): boolean {
  return BEGINNINGS.some((beginning) => bytes.subarray(0, beginning.length).equals(beginning)) || isWebp(bytes);
}

function isWebp(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';
}
