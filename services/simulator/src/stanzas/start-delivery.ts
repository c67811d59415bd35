import { type BinaryNode, childNamed, node, SERVER } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** The client says that it listens: everything that waited for it comes now, then the mark that this was all. */
export function startDelivery(server: Server, { session, device }: Client, query: BinaryNode): void {
  session.reply(query);
  if (!childNamed(query, 'active')) return;
  // A history that came before the mark would leave a stock client waiting for 20 seconds: it is sent again after it.
  if (!device.introduced) device.mailbox.withdrawPeerMessages();
  const count = String(device.mailbox.size);
  if (device.mailbox.size > 0) session.send(node('ib', { from: SERVER }, [node('offline_preview', { count })]));
  device.mailbox.attach(session);
  session.send(node('ib', { from: SERVER }, [node('offline', { count })]));
  if (!device.introduced) void server.office.writer.introduce(device);
}
