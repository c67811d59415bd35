import type { LinkedDevice } from '../accounts/linked-device.js';
import type { Session } from '../sessions/session.js';
import type { Server } from '../stanzas/stanza-context.js';
import { startDelivery } from '../stanzas/start-delivery.js';
import { type BinaryNode, node, SERVER, stamp } from '../wire/nodes.js';

const UNKNOWN_DEVICE = 401;

/**
 * A linked client comes back. The Noise key of its connection must be the one it was linked with. The newest login wins:
 * an older connection of the same device is told so and closed, and nothing more is taken from it.
 */
export function logIn(server: Server, session: Session): void {
  const device = deviceOf(server, session);
  if (!device) return session.refuse(UNKNOWN_DEVICE);
  const { faults } = server.network;
  const fault = faults.strike('login', { account: device.number, device: device.id });
  if (fault?.silent) return;
  if (fault?.error) return session.refuse(fault.error);
  if (fault?.streamError) return session.endStream(fault.streamError);
  const delayMs = fault ? faults.delayOf(fault) : 0;
  if (delayMs === 0) welcome(server, session, device);
  else setTimeout(() => session.state !== 'closed' && welcome(server, session, device), delayMs).unref();
}

function deviceOf(server: Server, { payload, clientKey }: Session): LinkedDevice | undefined {
  const device = server.network.accounts.findDevice(String(payload.username ?? ''), payload.device ?? -1);
  return device?.noiseKey.equals(clientKey) ? device : undefined;
}

function welcome(server: Server, session: Session, device: LinkedDevice): void {
  const { network } = server;
  device.connection?.replace();
  device.connection = session;
  device.logins += 1;
  session.device = device;
  session.state = 'live';
  network.counters.logins += 1;
  const account = network.accounts.ensure(device.number);
  if (session.payload.pushName) account.pushName = session.payload.pushName;
  const attrs = {
    t: stamp(network.now()),
    creation: stamp(account.createdAtMs),
    lid: network.directory.jidOf(device.number, 'lid', device.id),
    display_name: account.pushName,
    location: 'sim',
    props: '1',
  };
  session.send(node('success', attrs));
  const routing = node('edge_routing', {}, [node('routing_info', {}, Buffer.from([8, 13, 8, 5]))]);
  session.send(node('ib', { from: SERVER }, [routing]));
  session.send(
    node('ib', { from: SERVER }, [node('dirty', { type: 'account_sync', timestamp: stamp(account.createdAtMs) })]),
  );
  if (network.settings.clientExpirationMs !== null) session.send(expirationNode(network.settings.clientExpirationMs));
  if (session.payload.passive === false) startDelivery(server, { session, device });
}

/** Until when clients of these versions are let in; without a time the date is taken back. */
export function expirationNode(atMs: number | null): BinaryNode {
  const t = atMs === null ? undefined : stamp(atMs);
  return node('ib', { from: SERVER }, [node('client_expiration', { t })]);
}
