import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { toBase32 } from './base32.js';

/** `gw_<keyId>_<secret><checksum>`: 16 characters of key id, 32 of secret (160 bits), 7 of checksum. */
const TOKEN = /^gw_([0-9a-hjkmnp-tv-z]{16})_([0-9a-hjkmnp-tv-z]{32})([0-9a-hjkmnp-tv-z]{7})$/;

/**
 * What a token may do. `connect`: link and unlink its device; `send`: messages, and cancelling them; `otp`: one-time
 * passwords; `read`: results of both, the status, and checks of contacts; `opt-outs`: the list of them; `events`:
 * what happens and what people write, with their files; `webhooks`: endpoints that are told what happens, which includes what people write; `admin`: read and cancel the sends of other tokens.
 */
export const API_TOKEN_SCOPES = ['connect', 'send', 'otp', 'read', 'opt-outs', 'events', 'webhooks', 'admin'] as const;
export type ApiTokenScope = (typeof API_TOKEN_SCOPES)[number];

/** Of tokens that were created without a list of scopes. */
export const DEFAULT_SCOPES: readonly ApiTokenScope[] = ['connect', 'send', 'otp', 'read', 'opt-outs'];

/** Parses comma-separated names; each once, in the order of `API_TOKEN_SCOPES`. `undefined` if one is unknown, or the list is empty. */
export function parseScopes(list: string): ApiTokenScope[] | undefined {
  const names = list.split(',').map((name) => name.trim());
  const scopes = API_TOKEN_SCOPES.filter((scope) => names.includes(scope));
  return scopes.length > 0 && names.every((name) => scopes.includes(name as ApiTokenScope)) ? scopes : undefined;
}

export interface NewApiToken {
  keyId: string;
  /** The whole token, to be shown once. */
  token: string;
  /** What is stored: SHA-256 of the token, hex. The secret has 160 random bits, so a slow hash would add nothing. */
  hash: string;
}

export function makeApiToken(): NewApiToken {
  const keyId = toBase32(randomBytes(10));
  const secret = toBase32(randomBytes(20));
  const token = `gw_${keyId}_${secret}${checksum(keyId, secret)}`;
  return { keyId, token, hash: hashToken(token).toString('hex') };
}

/** The key id of a well-formed token. A mistyped one fails on its checksum, without a lookup. */
export function parseApiToken(token: string): { keyId: string } | undefined {
  const match = TOKEN.exec(token);
  if (!match) return undefined;
  const [, keyId, secret, sum] = match as unknown as [string, string, string, string];
  return checksum(keyId, secret) === sum ? { keyId } : undefined;
}

/** Compares in constant time. */
export function matchesHash(token: string, stored: string): boolean {
  const expected = Buffer.from(stored, 'hex');
  const actual = hashToken(token);
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

function checksum(keyId: string, secret: string): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(`${keyId}${secret}`));
  return toBase32(sum);
}
