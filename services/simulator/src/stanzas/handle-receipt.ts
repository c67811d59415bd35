import { namespaceOf, receiptNamespace } from '../network/namespace-of.js';
import { answerMediaRetry } from '../phone-app/answer-media-retry.js';
import { type BinaryNode, childrenNamed, childrenOf, node, stamp } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** Receipts that concern only the account's own server-side state. */
const OWN_AFFAIRS = new Set(['peer_msg', 'hist_sync', 'read-self', 'server-error']);
/** Receipts that only the device which sent the message is to hear of. */
const FOR_THE_SENDER = new Set(['retry', 'sender']);

/** A client confirms messages it received: they leave its mailbox, and their sender learns of it. */
export function handleReceipt(server: Server, { session, device }: Client, receipt: BinaryNode): void {
  const { directory, now } = server.network;
  const { id = '', to, participant, type } = receipt.attrs;
  session.send(node('ack', { class: 'receipt', id, from: to, participant, type, t: stamp(now()) }));
  const own = [directory.jidOf(device.number, 'pn'), directory.jidOf(device.number, 'lid')];
  const ids = [id, ...childrenNamed(childrenOf(receipt)[0], 'item').map(({ attrs }) => attrs.id ?? '')];
  if (type !== 'retry') for (const each of ids) device.mailbox.confirmMessage(each, [participant ?? to ?? '', ...own]);
  if (type === 'server-error') answerMediaRetry(server.network, server.office.phones.files, device, receipt);
  const sender = directory.resolve(participant ?? to);
  if (sender?.device === 0) server.office.writer.receiveReceipt(sender.number, device, ids, type);
  if (!sender || OWN_AFFAIRS.has(type ?? '')) return;
  if (type !== 'retry' || sender.device > 0) forward(server, device, receipt, sender);
}

function forward(
  server: Server,
  device: Client['device'],
  receipt: BinaryNode,
  sender: { number: string; device: number; addressing: 'pn' | 'lid' },
): void {
  const { directory, now } = server.network;
  const { id, to, participant, recipient, type } = receipt.attrs;
  const own = namespaceOf(server.network, sender.number, sender.addressing);
  const addressing = participant ? sender.addressing : receiptNamespace(server.network, type, own);
  const person = directory.jidOf(device.number, addressing, device.id);
  const place = participant ? { from: to, participant: person } : { from: person };
  // "inactive" only says that no one was looking: for the sender it is delivered.
  const kind = type === 'inactive' ? undefined : type;
  const attrs = { id, ...place, recipient, type: kind, t: stamp(now()) };
  server.office.postReceipt(sender, node('receipt', attrs, receipt.content), FOR_THE_SENDER.has(type ?? ''));
}
