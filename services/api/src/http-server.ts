import { createServer, type IncomingMessage, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

export interface HttpServerOptions {
  host: string;
  /** 0 takes any free one. */
  port: number;
  /** For a whole request, body included. */
  requestTimeoutMs: number;
  app: RequestListener;
}

export interface HttpServer {
  port: number;
  /** Takes no new connections, waits for the requests in flight, closes what is idle. */
  close(): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 10_000;
/** Longer than the 60 s of common load balancers: the side that closes must not be the one that does not know of a request. */
const KEEP_ALIVE_MS = 65_000;

/** Listens, with bounds on whatever a caller may do slowly. Rejects when the port is taken. */
export async function startHttpServer({ host, port, requestTimeoutMs, app }: HttpServerOptions): Promise<HttpServer> {
  const server = createServer({
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Node would answer for us, without a body.
    requireHostHeader: false,
  });
  server.on('request', app);
  // Who asks first whether to send a body is told by the answer, or by the step that reads it.
  server.on('checkContinue', app);
  server.on('checkExpectation', app);
  server.on('clientError', answerBrokenRequest);
  await listen(server, port, host);
  return { port: (server.address() as AddressInfo).port, close: () => closeServer(server) };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** A connection kept alive would hold up the stop for as long as its caller likes: each closes with its answer. */
function closeServer(server: Server): Promise<void> {
  server.prependListener('request', (_req: IncomingMessage, res) => res.setHeader('Connection', 'close'));
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  return new Promise((resolve) => {
    server.close(() => {
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** What is not HTTP, too large or too slow never reaches the app; it is answered in the same shape all the same. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = statusOf(error.code);
  const body = JSON.stringify({ success: false, error: STATUS_CODES[status] });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function statusOf(code: string | undefined): number {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return 400;
}
