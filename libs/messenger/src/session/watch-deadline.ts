import { systemClock } from '@gateway/runtime/clock';
import { type BaileysSocket, type BinaryNode, getBinaryNodeChild } from '../socket/baileys.js';

/** A date further away cannot be that of a version. */
const MAX_AWAY_MS = 5 * 365 * 24 * 60 * 60_000;

/** The network announces when it will refuse this client version; without a time, that it will not. */
export function watchDeadline(sock: BaileysSocket, onDeadline: (expiresAtMs: number | undefined) => void): void {
  sock.ws.on('CB:ib,,client_expiration', (node: BinaryNode) => {
    const t = getBinaryNodeChild(node, 'client_expiration')?.attrs.t;
    if (t === undefined) return onDeadline(undefined);
    const expiresAtMs = Number(t) * 1000;
    // An unreadable announcement cancels nothing.
    if (/^\d+$/.test(t) && Math.abs(expiresAtMs - systemClock.nowMs()) <= MAX_AWAY_MS) onDeadline(expiresAtMs);
  });
}
