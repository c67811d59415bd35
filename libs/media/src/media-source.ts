import { parseNetworks } from '@gateway/egress/address-rules';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import type { WebhookNetworks } from '@gateway/egress/webhook-policy';
import { isRealNetwork } from '@gateway/runtime/config/messenger-trust';

/** Where files lie that people sent. */
export interface MediaSource {
  policy: FetchPolicy;
  /** The file servers to ask, each with its port, in turn, for the one that a message names. */
  hostsOf(named: string | undefined): readonly string[];
}

const HOST = 'mmg.whatsapp.net';
const OF_NETWORK = /^(?:[a-z0-9-]+\.)+whatsapp\.net$/;
const ANYWHERE = parseNetworks('0.0.0.0/0,::/0');

/**
 * Where the network keeps files. Messages name the server, and a phone may write what it wants there: on the real network only
 * its own hosts are asked, at public addresses. What the named one does not have is asked of the one that has all: a phone that uploads
 * a file again says no server. A simulator is asked wherever it is, and has a certificate of its own.
 */
export function mediaSource(config: { MESSENGER_URL: string } & Pick<WebhookNetworks, 'NAT64_PREFIXES'>): MediaSource {
  if (isRealNetwork(config.MESSENGER_URL)) {
    const policy = { ports: [443], addresses: { allowed: [], nat64: config.NAT64_PREFIXES } };
    return { policy, hostsOf: (named = '') => (OF_NETWORK.test(named) && named !== HOST ? [named, HOST] : [HOST]) };
  }
  const { host } = new URL(config.MESSENGER_URL);
  return { policy: { addresses: { allowed: ANYWHERE }, anyCertificate: true }, hostsOf: (named = host) => [named] };
}
