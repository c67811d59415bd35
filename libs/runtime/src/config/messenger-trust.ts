/**
 * Which server a socket trusts as the messenger network: `production` is the root that the library ships,
 * `root` another root (a simulator's), `insecure` skips the certificate chain.
 */
export type MessengerTrust =
  | { kind: 'production' }
  | { kind: 'root' /** Curve25519, 32 bytes. */; publicKey: Buffer }
  | { kind: 'insecure' };

const ROOT = /^root:([0-9a-fA-F]{64})$/;
const REAL_HOSTS = ['whatsapp.com', 'whatsapp.net'];

/** Parses `production`, `insecure` or `root:<64 hex digits>`. */
export function parseMessengerTrust(text: string): MessengerTrust {
  if (text === 'production' || text === 'insecure') return { kind: text };
  const match = ROOT.exec(text);
  if (!match) throw new Error('must be production, insecure or root:<64 hex digits>');
  return { kind: 'root', publicKey: Buffer.from(match[1]!, 'hex') };
}

/** Whether a URL leads to the real network, where trust and pace are not negotiable. */
export function isRealNetwork(url: string): boolean {
  const host = new URL(url).hostname.toLowerCase().replace(/\.$/, '');
  return REAL_HOSTS.some((real) => host === real || host.endsWith(`.${real}`));
}
