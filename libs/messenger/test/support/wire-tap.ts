import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type ServerOptions, WebSocket, WebSocketServer } from 'ws';

/** Stands between a session and its server: says things that the server did not, or all that it says as one message. */
export async function tapWire(serverUrl: string, options: ServerOptions = {}) {
  const tap = new WebSocketServer({ host: '127.0.0.1', port: 0, ...options });
  await once(tap, 'listening');
  const clients = new Set<WebSocket>();
  let held: Buffer[] | undefined;
  let hasHungUp = false;
  tap.on('connection', (client) => {
    clients.add(client);
    const server = new WebSocket(serverUrl);
    const waiting: Buffer[] = [];
    client.on('message', (data: Buffer) =>
      server.readyState === WebSocket.OPEN ? server.send(data) : waiting.push(data),
    );
    server.on('open', () => {
      for (const data of waiting.splice(0)) server.send(data);
    });
    server.on('message', (data: Buffer) => (held ? held.push(data) : client.send(data)));
    server.on('close', () => {
      hasHungUp = true;
      if (!held) client.close();
    });
    client.on('close', () => server.close());
    for (const side of [client, server]) side.on('error', () => {});
  });
  return {
    url: `ws://127.0.0.1:${(tap.address() as AddressInfo).port}/ws/chat`,
    say(bytes: Buffer): void {
      for (const client of clients) client.send(bytes);
    },
    /** From now on what the server says waits. */
    hold(): void {
      held = [];
    },
    /** What has waited, as one message, or as messages of so many bytes; and the end of the connection, if it came meanwhile. */
    release(bytes = Infinity): void {
      const said = Buffer.concat(held ?? []);
      held = undefined;
      for (const client of clients) {
        for (let at = 0; at < said.length; at += bytes) client.send(said.subarray(at, at + bytes));
        if (hasHungUp) client.close();
      }
    },
    get heldBytes(): number {
      return held?.reduce((sum, { length }) => sum + length, 0) ?? 0;
    },
    async close(): Promise<void> {
      for (const client of clients) client.terminate();
      await new Promise<void>((resolve) => tap.close(() => resolve()));
    },
  };
}
