import { proto } from '@whiskeysockets/baileys';
import type { FaultAction } from '../faults/fault-book.js';
import { SALT_COLLECTION, saltPatches } from '../messaging/salt-patch.js';
import { type BinaryNode, bytesOf, childNamed, childrenNamed, node, SERVER, stamp } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/**
 * Settings that an account's devices share, as encrypted patches: the server numbers and keeps them, it cannot read them.
 * A patch that builds on an old version is refused with a conflict and what it missed.
 */
export function answerAppState(server: Server, client: Client, query: BinaryNode): void {
  const collections = childrenNamed(childNamed(query, 'sync'), 'collection');
  let delayMs = 0;
  const answers: BinaryNode[] = [];
  for (const collection of collections) {
    const fault = faultOf(server, client, collection);
    if (fault) delayMs = Math.max(delayMs, server.network.faults.delayOf(fault));
    if (fault?.silent) continue;
    answers.push(fault?.error ? refusedNode(collection, fault.error) : answerCollection(server, client, collection));
  }
  const reply = () => client.session.reply(query, [node('sync', {}, answers)]);
  if (delayMs === 0) reply();
  else setTimeout(reply, delayMs).unref();
}

/** A rule may single out one collection: it is missing from the answer, refused, or makes the whole answer late. */
function faultOf({ network }: Server, { device }: Client, { attrs }: BinaryNode): FaultAction | undefined {
  const event = { account: device.number, device: device.id, xmlns: 'w:sync:app:state', collection: attrs.name ?? '' };
  return network.faults.strike('iq', event, ({ match }) => match.collection !== undefined);
}

function refusedNode({ attrs: { name, version } }: BinaryNode, code: number): BinaryNode {
  return node('collection', { name, version, type: 'error' }, [node('error', { code: String(code), text: 'fault' })]);
}

function answerCollection(server: Server, client: Client, collection: BinaryNode): BinaryNode {
  const name = collection.attrs.name ?? '';
  const since = Number(collection.attrs.version ?? 0);
  const patches = patchesOf(server, client, name);
  const patch = bytesOf(childNamed(collection, 'patch'));
  if (patch && since !== patches.length) {
    const missed = patches.slice(since).map((bytes) => node('patch', {}, bytes));
    const attrs = { name, version: String(since), type: 'error' };
    return node('collection', attrs, [node('error', { code: '409', text: 'conflict' }), node('patches', {}, missed)]);
  }
  if (patch) {
    patches.push(numbered(patch, patches.length + 1));
    tellOtherDevices(server, client, name, patches.length);
    return node('collection', { name, version: String(patches.length) });
  }
  const news = patches.slice(since).map((bytes) => node('patch', {}, bytes));
  return node(
    'collection',
    { name, version: String(since) },
    news.length > 0 ? [node('patches', {}, news)] : undefined,
  );
}

/** The server writes its number into a patch: a client that gets several at once tells them apart by it. */
function numbered(patch: Buffer, version: number): Buffer {
  return Buffer.from(proto.SyncdPatch.encode({ ...proto.SyncdPatch.decode(patch), version: { version } }).finish());
}

function patchesOf(server: Server, { device }: Client, name: string): Buffer[] {
  const { appState } = server.network.accounts.ensure(device.number);
  let patches = appState.get(name);
  if (!patches) {
    patches = name === SALT_COLLECTION ? saltPatches(server.network, device.number) : [];
    appState.set(name, patches);
  }
  return patches;
}

function tellOtherDevices(server: Server, { device }: Client, name: string, version: number): void {
  const { accounts, now } = server.network;
  const attrs = { from: SERVER, type: 'server_sync', id: `sync-${name}-${version}`, t: stamp(now()) };
  for (const other of accounts.ensure(device.number).devices.values()) {
    if (other === device) continue;
    other.mailbox.post(node('notification', attrs, [node('collection', { name, version: String(version) })]));
  }
}
