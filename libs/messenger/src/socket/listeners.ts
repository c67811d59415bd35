import type { BaileysSocket, BinaryNode } from './baileys.js';

export type Listener = (node: BinaryNode) => unknown;

/** Puts one listener in the place of those that an event has; it is given a way to call them. */
export function replaceListeners(sock: BaileysSocket, event: string, make: (before: Listener) => Listener): void {
  const before = sock.ws.listeners(event) as Listener[];
  sock.ws.removeAllListeners(event);
  sock.ws.on(
    event,
    make((node) => Promise.all(before.map((listener) => listener(node)))),
  );
}
