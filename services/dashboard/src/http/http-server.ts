import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StartSlices } from '@gateway/runtime/http/start-slices';
import { addressOf, ConnectionBounds } from './connection-bounds.js';

export interface HttpServer {
  port: number;
  /** Takes no new connections, and waits for the requests in flight. Live streams have to be ended before. */
  close(): Promise<void>;
}

const MAX_HEADERS = 100;
const MAX_CONNECTIONS = 1_000;
const UNREAD_MS = 10_000;

export interface HttpServerOptions {
  host: string;
  /** 0 takes any free one. */
  port: number;
  /** Connections of one address. Default: all that there are, which is what a proxy needs. */
  maxPerAddress?: number;
  /** How long a caller may leave what is written to it where it is. */
  unreadMs?: number;
}

/** Listens, with bounds on connections. Rejects when the port is taken. */
export async function startHttpServer(
  app: RequestListener,
  { host, port, maxPerAddress = MAX_CONNECTIONS, unreadMs = UNREAD_MS }: HttpServerOptions,
): Promise<HttpServer> {
  const server = createServer({
    headersTimeout: 5_000,
    // A large file over a slow line.
    requestTimeout: 60_000,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: 65_000,
  });
  server.maxHeadersCount = MAX_HEADERS;
  server.maxConnections = MAX_CONNECTIONS;
  const bounds = new ConnectionBounds(server, { maxPerAddress, unreadMs });
  const slices = new StartSlices();
  server.on('request', (req, res) => {
    if (!bounds.begin(req, res)) return;
    // Its caller may be gone by then.
    slices.run(addressOf(req.socket), () => res.closed || app(req, res));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        // A connection kept alive would hold up the stop for as long as its browser likes: each closes with its answer.
        server.prependListener('request', (_req, res) => res.setHeader('Connection', 'close'));
        const idle = setInterval(() => server.closeIdleConnections(), 50);
        server.close(() => {
          clearInterval(idle);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}
