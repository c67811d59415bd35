import { systemClock } from '@gateway/runtime/clock';
import { type BaileysSocket, type BinaryNode, getBinaryNodeChild } from '../socket/baileys.js';

/** A date further away is no date of a version. */
const MAX_AWAY_MS = 5 * 365 * 24 * 60 * 60_000;

/** The network says when it will refuse this version of the client; without a time, that it will not. */
export function watchDeadline(sock: BaileysSocket, onDeadline: (expiresAtMs: number | undefined) => void): void {
  sock.ws.on('CB:ib,,client_expiration', (node: BinaryNode) => {
    const t = getBinaryNodeChild(node, 'client_expiration')?.attrs.t;
    if (t === undefined) return onDeadline(undefined);
    const expiresAtMs = Number(t) * 1000;
    // What cannot be read takes nothing back.
    if (/^\d+$/.test(t) && Math.abs(expiresAtMs - systemClock.nowMs()) <= MAX_AWAY_MS) onDeadline(expiresAtMs);
  });
}
