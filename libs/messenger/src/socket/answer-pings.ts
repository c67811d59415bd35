import { type BaileysSocket, type BinaryNode, getBinaryNodeChild } from './baileys.js';

/** Answers pings of the network, which the library does not. A ping may come without `type`. */
export function answerPings(sock: BaileysSocket): void {
  sock.ws.on('CB:iq', (node: BinaryNode) => {
    const { id, from, type = 'get', xmlns } = node.attrs;
    if (type !== 'get' || !from) return;
    if (xmlns !== 'urn:xmpp:ping' && !getBinaryNodeChild(node, 'ping')) return;
    // A socket that cannot write any more ends by itself.
    sock.sendNode({ tag: 'iq', attrs: { to: from, type: 'result', ...(id && { id }) } }).catch(() => {});
  });
}
