import type { Seed } from '../crypto/seed.js';

/** What a client gets with `media_conn` and must show when it uploads. */
export function mediaAuthOf(seed: Seed, number: string): string {
  return `${number}.${seed.derive(`media/${number}`).toString('base64url').slice(0, 22)}`;
}
