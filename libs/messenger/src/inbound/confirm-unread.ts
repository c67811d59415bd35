import {
  type BaileysSocket,
  type BinaryNode,
  buildAckStanza,
  getBinaryNodeChild,
  getBinaryNodeChildren,
} from '../socket/baileys.js';
import type { Listener } from '../socket/listeners.js';
import { replaceListeners } from '../socket/listeners.js';

/** Tags that the library or other parts of this adapter answer, or that need no answer. */
const ANSWERED: ReadonlySet<string> = new Set([
  ...['message', 'receipt', 'notification', 'call', 'iq', 'ack', 'ib', 'success', 'failure', 'presence', 'chatstate'],
  ...['stream:error', 'xmlstreamend', 'stream:features', 'error'],
]);

/** A message to one person has one; each costs up to 80 ms of CPU. */
const MOST_SEALED = 3;
/** Statuses, broadcast lists, newsletters. */
const TO_MANY = /@(?:broadcast|newsletter)$/;

/**
 * Confirms stanzas that the gateway does not use, before the library sees them: statuses, groups, broadcast lists, calls,
 * newsletters, changes of the account's settings, messages in more parts than are valid, and stanzas of unknown
 * kinds. Unconfirmed stanzas come again at each login, and in the end the network closes the connection over them; what
 * the library fails to read it confirms with an error, which withholds the whole queue.
 */
export function confirmUnread(sock: BaileysSocket): void {
  const confirm = (node: BinaryNode) => confirmStanza(sock, node);
  replaceListeners(sock, 'CB:call', () => confirm);
  for (const event of ['CB:message', 'CB:notification']) replaceListeners(sock, event, confirming(confirm));
  replaceListeners(
    sock,
    'CB:ib,,dirty',
    (library) => (node) => (isAboutGroups(node) ? confirmGroups(sock) : library(node)),
  );
  sock.ws.on('frame', (frame: BinaryNode | Uint8Array) => {
    if (!(frame instanceof Uint8Array) && !ANSWERED.has(frame.tag)) confirm(frame);
  });
}

/** Tells the network that we have a stanza. */
export function confirmStanza(sock: BaileysSocket, node: BinaryNode): void {
  if (!node.attrs.id || !node.attrs.from) return;
  // A socket that cannot write any more ends by itself.
  sock.sendNode(buildAckStanza(node, undefined, sock.user?.id)).catch(() => {});
}

/**
 * The network says at a login that groups have changed. The library would ask for all of them with all their members, which
 * may be megabytes (see ../frames/bound-inflate.ts), and none is read.
 */
function isAboutGroups(node: BinaryNode): boolean {
  return ['groups', 'communities'].includes(getBinaryNodeChild(node, 'dirty')?.attrs.type ?? '');
}

function confirmGroups(sock: BaileysSocket): void {
  sock.cleanDirtyBits('groups').catch(() => {});
}

function confirming(confirm: (node: BinaryNode) => void) {
  return (library: Listener): Listener =>
    (node) =>
      isUnread(node) ? confirm(node) : library(node);
}

function isUnread(node: BinaryNode): boolean {
  const { from = '', type } = node.attrs;
  if (TO_MANY.test(from) || (node.tag === 'message' && from.endsWith('@g.us'))) return true;
  if (getBinaryNodeChildren(node, 'enc').length > MOST_SEALED) return true;
  // The library would fetch the settings at once, and nothing of the account goes out until it has them.
  return node.tag === 'notification' && type === 'server_sync' && getBinaryNodeChild(node, 'collection') !== undefined;
}
