import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HttpServer {
  port: number;
  /** Takes no new connections, and waits for the requests in flight. Live streams have to be ended before. */
  close(): Promise<void>;
}

const MAX_HEADERS = 100;

/** Listens. Rejects when the port is taken. */
export async function startHttpServer(
  app: RequestListener,
  address: { host: string; port: number },
): Promise<HttpServer> {
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 65_000 }, app);
  server.maxHeadersCount = MAX_HEADERS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
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
