/**
 * Whether stored credentials are those of a linked device. Only `account` says so: it is what the phone signed. Pairing
 * by code sets `me` before anyone has agreed to anything, and `registered` is never set by a QR code.
 * Throws on credentials that are not JSON.
 */
export function isLinked(creds: string | undefined): boolean {
  return creds !== undefined && Boolean((JSON.parse(creds) as { account?: unknown } | null)?.account);
}
