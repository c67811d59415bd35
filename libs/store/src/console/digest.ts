import { createHash } from 'node:crypto';

/** How a secret with 256 random bits is stored: a slow hash would add nothing to it. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
