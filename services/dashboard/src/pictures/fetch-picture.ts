import { parseNetworks } from '@gateway/egress/address-rules';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { fetchUrl } from '@gateway/egress/fetch-url';

export interface Picture {
  /** MIME type, by what its bytes are, whatever the server calls it. */
  type: string;
  bytes: Buffer;
}

/** Where the messenger network keeps pictures of accounts. */
const HOST = /^[a-z0-9.-]+\.whatsapp\.net$/;
const MAX_BYTES = 512 * 1024;
const TIMEOUT_MS = 8_000;
const ANYWHERE = parseNetworks('0.0.0.0/0,::/0');

/**
 * Where the picture may be fetched; `undefined`: nowhere. On the real network from its own hosts on the public internet, with
 * https; on a simulated one from its simulator alone, wherever that is.
 */
export function policyOf(url: string, simulatorUrl: string | undefined): FetchPolicy | undefined {
  if (!URL.canParse(url)) return undefined;
  const { origin, protocol, hostname, port } = new URL(url);
  if (simulatorUrl !== undefined) {
    if (origin !== simulatorUrl) return undefined;
    return { ports: [Number(port || (protocol === 'https:' ? 443 : 80))], addresses: { allowed: ANYWHERE } };
  }
  if (protocol !== 'https:' || !HOST.test(hostname)) return undefined;
  return { ports: [443], addresses: { allowed: [] } };
}

/** `undefined` for what is no picture. Throws `EgressError` for what cannot be fetched within 512 kB and eight seconds, or leads elsewhere. */
export async function fetchPicture(
  url: string,
  policy: FetchPolicy,
  signal: AbortSignal,
): Promise<Picture | undefined> {
  const limits = { maxBytes: MAX_BYTES, maxRedirects: 0, timeoutMs: TIMEOUT_MS };
  const bytes = await fetchUrl(url, policy, { ...limits, signal });
  const type = typeOf(bytes);
  return type === undefined ? undefined : { type, bytes };
}

/** Of those that browsers show as pictures and cannot take for anything else. */
function typeOf(bytes: Buffer): string | undefined {
  const text = bytes.subarray(0, 12).toString('latin1');
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (/^RIFF.{4}WEBP$/s.test(text)) return 'image/webp';
  return undefined;
}
