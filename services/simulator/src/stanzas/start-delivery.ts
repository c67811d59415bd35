import { Delivery } from '../accounts/delivery.js';
import { type BinaryNode, childNamed, node, SERVER } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** The client says that it listens, unless its login said so already. */
export function answerPassive(server: Server, client: Client, query: BinaryNode): void {
  client.session.reply(query);
  if (childNamed(query, 'active') && client.session.payload.passive !== false) startDelivery(server, client);
}

/** Everything that waited for the client comes now, then the mark that this was all. */
export function startDelivery(server: Server, client: Client): void {
  // A history that came before the mark would leave a stock client waiting for 20 seconds: it is sent again after it.
  if (!client.device.introduced) client.device.mailbox.withdrawPeerMessages();
  if (!server.network.rules.deliversInBatches) return deliverAtOnce(server, client);
  const { session, device } = client;
  device.mailbox.isHeldBack = server.network.accounts.ensure(device.number).backlog.isWithheld;
  session.delivery ??= makeDelivery(server, client);
  session.delivery.start();
}

function deliverAtOnce(server: Server, client: Client): void {
  const { session, device } = client;
  const count = String(device.mailbox.size);
  if (device.mailbox.size > 0) session.send(node('ib', { from: SERVER }, [node('offline_preview', { count })]));
  device.mailbox.attach(session);
  session.send(node('ib', { from: SERVER }, [node('offline', { count })]));
  introduce(server, client);
}

function makeDelivery(server: Server, client: Client): Delivery {
  const { accounts, counters, now, settings } = server.network;
  const { session, device } = client;
  return new Delivery(device.mailbox, session, {
    now,
    endMarkMs: () => accounts.ensure(device.number).backlog.endMarkMs,
    statusAckMs: settings.statusAckMs,
    onDelivered: () => introduce(server, client),
    onHaste: () => {
      counters.hastyBatchRequests += 1;
    },
    onUnconfirmedStatus: (status) => {
      counters.unconfirmedStatuses += 1;
      session.send(status);
      session.endStreamOver(status);
    },
  });
}

function introduce(server: Server, { device }: Client): void {
  const { isHistoryWithheld } = server.network.accounts.ensure(device.number).backlog;
  if (!device.introduced && !isHistoryWithheld) void server.office.writer.introduce(device);
}

/** `<ib>` of a client: telemetry, or the next part of its backlog. */
export function handleInfo({ session }: Client, info: BinaryNode): void {
  const batch = childNamed(info, 'offline_batch');
  if (batch) session.delivery?.requestBatch(Number(batch.attrs.count));
}
