const BYTES = 16;

/** For a header `Idempotency-Key`. `crypto.randomUUID` is there over https and on this machine only. */
export function makeKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
