import { unlinkDevice } from '../messaging/unlink-device.js';
import { type BinaryNode, childNamed } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** A client that logs itself out reads its answer before its stream ends: not all take in two stanzas that come at once. */
const FAREWELL_MS = 20;

/** A client logs itself out (`remove-companion-device`), or an account's client another one. */
export function answerDevicesQuery(server: Server, client: Client, query: BinaryNode): void {
  const removal = childNamed(query, 'remove-companion-device');
  if (!removal) return client.session.replyError(query, 400, 'bad-request');
  const address = server.network.directory.resolve(removal.attrs.jid);
  if (address?.number !== client.device.number) return client.session.replyError(query, 403, 'forbidden');
  client.session.reply(query);
  const isItself = address.device === client.device.id;
  unlinkDevice(server.network, address.number, address.device, { farewellMs: isItself ? FAREWELL_MS : 0 });
}
