/**
 * Whether credentials are those of a linked device. `account`, the identity that the phone signed, alone says so:
 * `me` is set as soon as a pairing code is asked for, and `registered` stays false after a QR code.
 * @param creds as in the key store.
 */
export function isLinked(creds: string | undefined): boolean {
  return creds !== undefined && Boolean((JSON.parse(creds) as { account?: unknown }).account);
}
