import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** One of Standard Webhooks 1.0: `whsec_` and 32 bytes (HMAC-SHA256), or `whsk_` and a private key of 32 bytes (ed25519). */
export type WebhookSecret = string;
/** `v1`: HMAC with a secret that both sides have. `v1a`: ed25519, of which the receiver has only the public key. */
export const SIGNATURE_SCHEMES = ['v1', 'v1a'] as const;
export type SignatureScheme = (typeof SIGNATURE_SCHEMES)[number];

/** One that signs until a time, as another has taken its place; or for as long as there is no other. */
export interface SigningSecret {
  secret: WebhookSecret;
  endsAtMs?: number;
}

const SECRET_PREFIX = 'whsec_';
const PRIVATE_PREFIX = 'whsk_';
const PUBLIC_PREFIX = 'whpk_';
const SECRET_BYTES = 32;
/** What stands before the 32 bytes of an ed25519 key in its PKCS #8 form (RFC 8410). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

export function makeWebhookSecret(scheme: SignatureScheme): WebhookSecret {
  if (scheme === 'v1') return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
  const { privateKey } = generateKeyPairSync('ed25519');
  const { d } = privateKey.export({ format: 'jwk' });
  return `${PRIVATE_PREFIX}${Buffer.from(d!, 'base64url').toString('base64')}`;
}

export function schemeOf(secret: WebhookSecret): SignatureScheme {
  return secret.startsWith(PRIVATE_PREFIX) ? 'v1a' : 'v1';
}

/** What the receiver verifies with: the secret itself, or the public key of a private one (`whpk_`). */
export function verifierOf(secret: WebhookSecret): string {
  if (schemeOf(secret) === 'v1') return secret;
  const { x } = keyOf(secret).export({ format: 'jwk' });
  return `${PUBLIC_PREFIX}${Buffer.from(x!, 'base64url').toString('base64')}`;
}

/**
 * The three headers of Standard Webhooks 1.0 (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md).
 * While a secret is being replaced there is a signature of each, so that receivers may change theirs at any moment.
 * @param atMs of this attempt, while the id stays the same for all of them. @param body exactly what is sent.
 */
export function signWebhook(
  secrets: readonly SigningSecret[],
  { id, atMs, body }: { id: string; atMs: number; body: Buffer },
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(atMs / 1000));
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const signatures = secretsAt(secrets, atMs).map(({ secret }) => signatureOf(secret, signed));
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** Those that still sign. */
export function secretsAt(secrets: readonly SigningSecret[], atMs: number): SigningSecret[] {
  return secrets.filter(({ endsAtMs = Number.POSITIVE_INFINITY }) => endsAtMs > atMs);
}

function signatureOf(secret: WebhookSecret, signed: Buffer): string {
  if (schemeOf(secret) === 'v1a') return `v1a,${sign(null, signed, keyOf(secret)).toString('base64')}`;
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}

function keyOf(secret: WebhookSecret): KeyObject {
  const bytes = Buffer.from(secret.slice(PRIVATE_PREFIX.length), 'base64');
  return createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, bytes]), format: 'der', type: 'pkcs8' });
}
