import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { API_ERRORS, type ApiErrorCode } from '@gateway/contracts/errors';
import { takeOrMakeRequestId } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import { noteAccepted, StartSlices } from '@gateway/runtime/http/start-slices';
import { sendAnswer } from '../sends/send-answer.js';
import type { AddressWindows } from './address-windows.js';
import type { App } from './answer-directly.js';
import { breakBody } from './body/broken-bodies.js';
import { dropRest } from './body/drop-rest.js';
import { addressOf, Connections } from './connections.js';
import { MAX_HEADER_LINES } from './parser-bounds.js';

export interface HttpServerOptions {
  host: string;
  /** 0 takes any free one. */
  port: number;
  /** For a whole request, body included. */
  requestTimeoutMs: number;
  /** Connections that the system keeps until they are accepted; its own bound may be lower. */
  backlog: number;
  /** More of them are closed at once; before there are as many, idle ones are closed. */
  maxConnections: number;
  /** Of these, from one address. Default: all. */
  maxPerAddress?: number;
  /** Called for each that is closed at once. */
  onDrop: () => void;
  /** Counts requests that are refused before anyone looks for their token. */
  tokenless: AddressWindows;
  /** How long a caller may leave what is written to it where it is. */
  unreadMs?: number;
  app: App;
}

export interface HttpServer {
  port: number;
  /** Takes no new connections, waits for the requests in flight, closes what is idle or has not asked for anything. */
  close(): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 10_000;
/** Longer than the 60 s of common load balancers: the side that closes must not be the one that does not know of a request. */
const KEEP_ALIVE_MS = 65_000;
const UNREAD_MS = 10_000;
/** How long requests may still come, once it stops, on connections that are there. */
const LAST_HEADS_MS = 500;

/** Listens, with bounds on whatever a caller may do slowly. Rejects when the port is taken. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, requestTimeoutMs, backlog, maxConnections, onDrop, tokenless, app } = options;
  const { unreadMs = UNREAD_MS, maxPerAddress = maxConnections } = options;
  const server = createServer({
    ...app.messages,
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Node would answer for us, without a body.
    requireHostHeader: false,
  });
  // One more than is taken, so that more are seen: Node drops the rest, a token among them, without a word.
  server.maxHeadersCount = MAX_HEADER_LINES + 1;
  server.maxConnections = maxConnections;
  server.on('drop', onDrop);
  const connections = new Connections(server, { unreadMs, maxConnections, maxPerAddress, onDrop });
  const slices = new StartSlices();
  const limitsOf = (socket: Duplex) => tokenless.count(addressOf(socket as Socket)).headers;
  acceptInTurn(server, connections, slices);
  const answer: RequestListener = (req, res) => {
    const verdict = connections.begin(req, res);
    if (!verdict) return;
    slices.run(addressOf(req.socket), () => {
      // By then it may have been answered as broken, or its caller be gone.
      if (res.headersSent || res.closed) return;
      if (verdict === true) app(req, res);
      else refuse(res, verdict, limitsOf(req.socket));
    });
  };
  server.on('request', answer);
  // Who asks first whether to send a body is told by the answer, or by the step that reads it.
  server.on('checkContinue', answer);
  server.on('checkExpectation', answer);
  // At once: what its caller sends meanwhile would fill memory.
  server.on('connect', (req) => answerTunnel(answer, req, connections));
  server.on('clientError', (error, socket) => {
    if (connections.isDeaf(socket)) return;
    if (isTooLate(error) && (socket as Socket).bytesRead === 0) endSilent(socket as Socket);
    else answerBroken(error, socket, connections.latestOn(socket), limitsOf);
  });
  await listen(server, { port, host, backlog });
  return { port: (server.address() as AddressInfo).port, close: () => closeServer(server, connections) };
}

/**
 * Accepting is cheap, and what comes after it is not: a parser, and soon a request. So addresses take turns for it, and
 * those who come after a thousand connections of one address are not the thousandth.
 */
function acceptInTurn(server: Server, connections: Connections, slices: StartSlices): void {
  const [giveParser] = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  Object.assign(server, { pauseOnConnect: true });
  server.on('connection', (socket: Socket) => {
    noteAccepted();
    if (!connections.admit(socket)) return;
    slices.run(addressOf(socket), () => {
      if (socket.destroyed) return;
      giveParser!.call(server, socket);
      connections.watch(socket);
      socket.resume();
    });
  });
}

function listen(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** A connection kept alive would hold up the stop for as long as its caller likes: each closes with its answer. */
function closeServer(server: Server, connections: Connections): Promise<void> {
  server.prependListener('request', (_req: IncomingMessage, res) => res.setHeader('Connection', 'close'));
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  // Nor would Node give up on a request whose head never comes: it looks for those no more once it is closing.
  const silent = setTimeout(() => connections.closeUnanswered(), LAST_HEADS_MS);
  return new Promise((resolve) => {
    server.close(() => {
      clearInterval(idle);
      clearTimeout(silent);
      resolve();
    });
    server.closeIdleConnections();
  });
}

type LimitHeaders = Record<string, string>;

function identify(res: ServerResponse): void {
  res.setHeader('X-Request-Id', takeOrMakeRequestId(res.req.headers['x-request-id'] as string | undefined));
}

/** Before the caller is known. */
function refuse(res: ServerResponse, { status, publicMessage, headers }: ApiError, limits: LimitHeaders): void {
  identify(res);
  sendAnswer(res, { status, body: { success: false, error: publicMessage }, headers: { ...limits, ...headers } });
  if (!res.req.complete) dropRest(res.req);
}

/**
 * Node would close the connection of a request for a tunnel; here it is a method like any other, of an unknown path, and
 * the last of its connection. Behind another request it is not answered: Node lets no answer wait for a connection that it
 * has given away.
 */
function answerTunnel(answer: RequestListener, req: IncomingMessage, connections: Connections): void {
  const { socket } = req;
  // Node listens to it no more.
  socket.on('error', () => socket.destroy());
  if (connections.isDeaf(socket)) return;
  // Nothing reads what follows: the connection would stay open after its caller has gone.
  const end = () => socket.destroySoon();
  const before = connections.latestOn(socket);
  if (before && !before.closed) {
    before.shouldKeepAlive = false;
    before.once('close', end);
    return;
  }
  if (!req.url?.startsWith('/')) req.url = '/';
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket);
  res.once('finish', end);
  answer(req, res as Parameters<RequestListener>[1]);
}

const isTooLate = ({ code }: NodeJS.ErrnoException) => code === 'ERR_HTTP_REQUEST_TIMEOUT';

/**
 * Nothing has come on it: its client may have opened it in advance, and would take an answer for that to the request which it is about to
 * write. What came while this process had no time to look is heard in this turn of the event loop, and is answered as ever.
 */
function endSilent(socket: Socket): void {
  setImmediate(() => {
    if (socket.bytesRead === 0) socket.destroy();
  });
}

const CODES: Record<string, ApiErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * What is not HTTP, too large or too slow is answered in the same shape as all else: by the step that reads the body of
 * its request, or on the bare connection when no request was made out.
 */
function answerBroken(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  res: ServerResponse | undefined,
  limitsOf: (socket: Duplex) => LimitHeaders,
): void {
  const code = CODES[error.code ?? ''] ?? 'invalid_request';
  const { status, message } = API_ERRORS[code];
  const details = code === 'invalid_request' && { details: [{ path: [], message: 'must be valid HTTP' }] };
  const body = { success: false, error: message, ...details };
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (!res || res.writableFinished) writeAnswer(socket, status, JSON.stringify(body), limitsOf(socket));
  // Its answer, or that of an earlier request, is on its way: there is nothing to add to it.
  else if (res.headersSent || res.socket !== socket) socket.destroy();
  else {
    res.shouldKeepAlive = false;
    // Those of its token, if it got so far.
    const headers = res.hasHeader('X-RateLimit-Limit') ? {} : limitsOf(socket);
    // Its turn may not have come yet.
    if (!res.hasHeader('X-Request-Id')) identify(res);
    if (res.req.complete) sendAnswer(res, { status, body, headers });
    else breakBody(res.req, new ApiError(code, details || {}));
  }
}

function writeAnswer(socket: Duplex, status: number, body: string, limits: LimitHeaders): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${takeOrMakeRequestId(undefined)}`,
    ...Object.entries(limits).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
