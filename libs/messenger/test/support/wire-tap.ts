import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

/** Stands between a session and its server and says things that the server did not. */
export async function tapWire(serverUrl: string) {
  const tap = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(tap, 'listening');
  const clients = new Set<WebSocket>();
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
    server.on('message', (data: Buffer) => client.send(data));
    server.on('close', () => client.close());
    client.on('close', () => server.close());
    for (const side of [client, server]) side.on('error', () => {});
  });
  return {
    url: `ws://127.0.0.1:${(tap.address() as AddressInfo).port}/ws/chat`,
    say(bytes: Buffer): void {
      for (const client of clients) client.send(bytes);
    },
    async close(): Promise<void> {
      for (const client of clients) client.terminate();
      await new Promise<void>((resolve) => tap.close(() => resolve()));
    },
  };
}
