import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { API_ERRORS, type ApiErrorCode } from '@gateway/contracts/errors';
import { takeOrMakeRequestId } from '@gateway/contracts/ids';
import { sendAnswer } from './send-answer.js';

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
  /** Takes no new connections, waits for the requests in flight, closes what is idle or has not asked for anything. */
  close(): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 10_000;
/** Longer than the 60 s of common load balancers: the side that closes must not be the one that does not know of a request. */
const KEEP_ALIVE_MS = 65_000;
/** How long requests may still come, once it stops, on connections that are there. */
const LAST_HEADS_MS = 500;

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
  // Their bytes are limited; past 2,000 Node would drop the rest, a token among them, without a word.
  server.maxHeadersCount = 0;
  /** What is being answered on a connection: the latest of its requests. */
  const answering = new WeakMap<Duplex, ServerResponse>();
  const answer: RequestListener = (req, res) => {
    answering.set(req.socket, res);
    app(req, res);
  };
  const connections = new Set<Duplex>();
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', answer);
  // Who asks first whether to send a body is told by the answer, or by the step that reads it.
  server.on('checkContinue', answer);
  server.on('checkExpectation', answer);
  server.on('connect', (req, socket) => answerTunnel(app, req, socket));
  server.on('clientError', (error, socket) => answerBroken(error, socket, answering.get(socket)));
  const unanswered = () => [...connections].filter((socket) => answering.get(socket)?.writableFinished ?? true);
  await listen(server, port, host);
  return { port: (server.address() as AddressInfo).port, close: () => closeServer(server, unanswered) };
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
function closeServer(server: Server, unanswered: () => Duplex[]): Promise<void> {
  server.prependListener('request', (_req: IncomingMessage, res) => res.setHeader('Connection', 'close'));
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  // Nor would Node give up on a request whose head never comes: it looks for those no more once it is closing.
  const silent = setTimeout(() => unanswered().forEach((socket) => void socket.destroy()), LAST_HEADS_MS);
  return new Promise((resolve) => {
    server.close(() => {
      clearInterval(idle);
      clearTimeout(silent);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** Node would hang up on whoever asks for a tunnel; here it is a method like any other, of no path that we know. */
function answerTunnel(app: RequestListener, req: IncomingMessage, socket: Duplex): void {
  if (!req.url?.startsWith('/')) req.url = '/';
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(req.socket);
  res.once('finish', () => socket.end());
  socket.on('error', () => socket.destroy());
  app(req, res as Parameters<RequestListener>[1]);
}

const BROKEN: Record<string, ApiErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * What is not HTTP, too large or too slow is answered in the same shape as all else: by the response of its request, with
 * the headers that are known by then, or on the bare connection when no request was made out.
 */
function answerBroken(error: NodeJS.ErrnoException, socket: Duplex, res: ServerResponse | undefined): void {
  const code = BROKEN[error.code ?? ''] ?? 'invalid_request';
  const { status, message } = API_ERRORS[code];
  const details = code === 'invalid_request' && { details: [{ path: [], message: 'must be valid HTTP' }] };
  const body = { success: false, error: message, ...details };
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (!res || res.writableFinished) writeAnswer(socket, status, JSON.stringify(body));
  // Its answer, or that of an earlier request, is on its way: there is nothing to add to it.
  else if (res.headersSent || res.socket !== socket) socket.destroy();
  else {
    res.shouldKeepAlive = false;
    sendAnswer(res, { status, body });
  }
}

function writeAnswer(socket: Duplex, status: number, body: string): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${takeOrMakeRequestId(undefined)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
