import { LIMITS } from '@gateway/contracts/limits';
import { parseNetworks } from '@gateway/egress/address-rules';
import { isRealNetwork } from '@gateway/runtime/config/messenger-trust';
import type { ApiDeps } from '../api-deps.js';
import type { ApiConfig } from '../config.js';
import { Turns } from '../http/turns.js';

const HOST = 'mmg.whatsapp.net';
const OF_NETWORK = /^(?:[a-z0-9-]+\.)+whatsapp\.net$/;
const ANYWHERE = parseNetworks('0.0.0.0/0,::/0');

/**
 * Where the network keeps files. Messages name the server, and a phone may write what it wants there: on the real network only
 * its own hosts are asked, at public addresses. A simulator is asked wherever it is, and has a certificate of its own.
 */
export function mediaSource(config: Pick<ApiConfig, 'MESSENGER_URL' | 'NAT64_PREFIXES'>): ApiDeps['media'] {
  const turns = new Turns(LIMITS.mediaPerToken);
  if (isRealNetwork(config.MESSENGER_URL)) {
    const policy = { ports: [443], addresses: { allowed: [], nat64: config.NAT64_PREFIXES } };
    return { turns, policy, hostOf: (named = '') => (OF_NETWORK.test(named) ? named : HOST) };
  }
  const { host } = new URL(config.MESSENGER_URL);
  return { turns, policy: { addresses: { allowed: ANYWHERE }, anyCertificate: true }, hostOf: (named = host) => named };
}
