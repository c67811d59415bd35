import { createHash } from 'node:crypto';

/** How a secret may stand somewhere: as it is, in an address, as hex, or as base64 of itself or of a text around it. */
export function tracesOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret);
  const encoded = [0, 1, 2].flatMap((before) => base64Behind(before, bytes));
  return toBuffers([secret, encodeURIComponent(secret), bytes.toString('hex'), ...encoded]);
}

/** Plain digests, from which what is short can be guessed. */
export function digestsOf(secret: string): Buffer[] {
  const digests = ['sha256', 'sha1', 'md5'].map((name) => createHash(name).update(secret).digest());
  return [...digests, ...toBuffers(digests.map((digest) => digest.toString('hex')))];
}

const toBuffers = (texts: readonly string[]) => [...new Set(texts)].map((text) => Buffer.from(text));

/** What of it is the same whatever stands around it. */
function base64Behind(before: number, bytes: Buffer): string[] {
  const all = Buffer.concat([Buffer.alloc(before), bytes]);
  const [first, last] = [Math.ceil((before * 4) / 3), Math.floor((all.length * 4) / 3)];
  return (['base64', 'base64url'] as const).map((name) => all.toString(name).slice(first, last));
}
