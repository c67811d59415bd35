import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TlsIdentity } from './self-signed.js';

export interface Listener {
  readonly server: Server;
  readonly port: number;
  close(): Promise<void>;
}

/** Starts an HTTP server, or an HTTPS one with an identity, and waits until it listens. Rejects when the port is taken. */
export async function listen(
  handler: RequestListener,
  { host, port, tls }: { host: string; port: number; tls: TlsIdentity | undefined },
): Promise<Listener> {
  const server = tls ? createHttpsServer(tls, handler) : createHttpServer(handler);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const close = async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { server, port: (server.address() as AddressInfo).port, close };
}
