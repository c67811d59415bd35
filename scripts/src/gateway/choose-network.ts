import { createHash } from 'node:crypto';
import { networkInterfaces } from 'node:os';

/** What a gateway on this machine talks to. Each has its own data: accounts of one must never be tried on another. */
export type Network = { kind: 'simulator' } | { kind: 'standIn'; url: string } | { kind: 'real' };

/** A `MESSENGER_URL` on this host is a simulator: the real network is not here. */
export function chooseNetwork({
  simulator,
  messengerUrl,
}: {
  simulator: boolean;
  messengerUrl: string | undefined;
}): Network {
  if (simulator) return { kind: 'simulator' };
  return messengerUrl && isOnThisHost(messengerUrl) ? { kind: 'standIn', url: messengerUrl } : { kind: 'real' };
}

/** Name of the folder in the state folder, and what is added to `KEY_PREFIX`, for a Redis that is shared. */
export function placeOf(network: Network): { folder: string; keySuffix: string } {
  switch (network.kind) {
    case 'simulator':
      return { folder: 'simulator', keySuffix: '-simulator' };
    case 'standIn': {
      const id = createHash('sha256').update(network.url).digest('hex').slice(0, 8);
      return { folder: `stand-in-${id}`, keySuffix: `-stand-in-${id}` };
    }
    case 'real':
      return { folder: 'data', keySuffix: '' };
  }
}

function isOnThisHost(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const host = new URL(url).hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  if (/^127(\.\d+){3}$/.test(host) || ['0.0.0.0', '::1', '::'].includes(host)) return true;
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === host));
}
