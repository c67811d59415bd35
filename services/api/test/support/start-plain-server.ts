import type { RequestListener } from 'node:http';
import { AddressWindows } from '@gateway/api/http/address-windows';
import { type HttpServer, type HttpServerOptions, startHttpServer } from '@gateway/api/http/http-server';
import { systemClock } from '@gateway/runtime/clock';

/** The HTTP server of the API with its usual limits, and in place of the API what a test wants to see. */
export function startPlainServer(app: RequestListener, more: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  return startHttpServer({
    ...{ host: '127.0.0.1', port: 0, requestTimeoutMs: 10_000, backlog: 512, maxConnections: 1_000 },
    ...{ onDrop: () => {}, tokenless: new AddressWindows(systemClock, 60), app },
    ...more,
  });
}
