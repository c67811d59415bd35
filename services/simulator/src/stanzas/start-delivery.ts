import { type BinaryNode, childNamed, node, SERVER } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** The client says that it listens: everything that waited for it comes now, then the mark that this was all. */
export function startDelivery(server: Server, { session, device }: Client, query: BinaryNode): void {
  session.reply(query);
  if (!childNamed(query, 'active')) return;
  const count = String(device.mailbox.size);
  if (device.mailbox.size > 0) session.send(node('ib', { from: SERVER }, [node('offline_preview', { count })]));
  device.mailbox.attach(session);
  session.send(node('ib', { from: SERVER }, [node('offline', { count })]));
  void server.office.writer.introduce(device);
}
