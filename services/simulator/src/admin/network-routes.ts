import type { Gate } from '../gate/gate.js';
import type { Network } from '../network/network.js';
import { readNetworkSettings } from './admin-bodies.js';
import type { HttpRouter } from './http-router.js';

/** What may be changed about the network as a whole while it runs. */
export function addNetworkRoutes(router: HttpRouter, network: Network, gate: Gate): void {
  const view = () => {
    const { profile, minimumVersion, clientExpirationMs, serverPingMs, statusAckMs, refreshAfterScan } =
      network.settings;
    return { body: { profile, minimumVersion, clientExpirationMs, serverPingMs, statusAckMs, refreshAfterScan } };
  };
  router.on('GET /admin/network', view);
  router.on('PUT /admin/network', ({ body }) => {
    const given = readNetworkSettings(body);
    Object.assign(network.settings, given);
    if (given.clientExpirationMs !== undefined) gate.announceExpiration();
    if (given.serverPingMs !== undefined) gate.pings.every(given.serverPingMs);
    return view();
  });
}
