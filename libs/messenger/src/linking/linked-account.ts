/**
 * Whether stored credentials are those of a linked device. Only `account` proves it: the phone signed it. Pairing
 * by code sets `me` before anyone has agreed to anything, and `registered` is never set by a QR code.
 * Throws on credentials that are not JSON.
 */
export function isLinked(creds: string | undefined): boolean {
  return creds !== undefined && Boolean((JSON.parse(creds) as { account?: unknown } | null)?.account);
}

/** Digits of the account whose credentials these are; `undefined` when no device is linked. Throws like `isLinked`. */
export function phoneOfLinked(creds: string | undefined): string | undefined {
  if (creds === undefined || !isLinked(creds)) return undefined;
  const { me } = JSON.parse(creds) as { me?: { id?: string } };
  return /^\d+/.exec(me?.id ?? '')?.[0];
}
