import { type BaileysSocket, type BinaryNode, getBinaryNodeChild } from './baileys.js';

/** The network says when it will refuse this version of the client; without a time, that it will not. */
export function watchDeadline(sock: BaileysSocket, onDeadline: (expiresAtMs: number | undefined) => void): void {
  sock.ws.on('CB:ib,,client_expiration', (node: BinaryNode) => {
    const t = getBinaryNodeChild(node, 'client_expiration')?.attrs.t;
    const seconds = Number(t);
    // What cannot be read takes nothing back.
    if (t !== undefined && !(t !== '' && Number.isSafeInteger(seconds) && seconds >= 0)) return;
    onDeadline(t === undefined ? undefined : seconds * 1000);
  });
}
