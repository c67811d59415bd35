import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { sleep, systemClock } from '../clock.js';
import { toError } from '../errors.js';
import type { Logger } from '../logs/logger.js';

export type ReadinessCheck = () => Promise<void> | void;

export interface OpsServerOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  registry: Registry;
  /** Each is named in `/readyz`; one that throws, or takes more than 2 s, makes the process not ready. */
  checks: Record<string, ReadinessCheck>;
  logger: Logger;
  /** `lifecycle.stopping`: a process that stops is not ready. */
  stopping?: AbortSignal;
}

export interface OpsServer {
  port: number;
  close(): Promise<void>;
}

const CHECK_TIMEOUT_MS = 2_000;
/** After the text of the metrics was made, which holds up the event loop, so many times as long none is made. */
const REST_FACTOR = 9;
const MAX_REST_MS = 1_000;
const MAX_CONNECTIONS = 20;

/**
 * Serves `/livez` (the event loop turns), `/readyz` (200 or 503 with each check by name) and `/metrics` on a port of its
 * own, which is not meant for the public: at most 20 connections, each for one request. Rejects when the port is taken.
 */
export async function startOpsServer(options: OpsServerOptions): Promise<OpsServer> {
  const readMetrics = shareNext(() => options.registry.metrics());
  const server = createServer((request, response) => {
    response.setHeader('connection', 'close');
    answer({ ...options, readMetrics }, request.url ?? '/', response).catch((thrown: unknown) => {
      options.logger.error('ops request failed', { error: toError(thrown) });
      response.writeHead(500).end();
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, options.port, options.host);
  const { port } = server.address() as AddressInfo;
  options.logger.debug('ops server listens', { host: options.host, port });
  return { port, close: () => closeServer(server) };
}

type AnswerOptions = OpsServerOptions & { readMetrics(): Promise<string> };

async function answer(options: AnswerOptions, url: string, response: ServerResponse): Promise<void> {
  switch (url.split('?')[0]) {
    case '/livez':
      return sendJson(response, 200, { live: true });
    case '/readyz': {
      const readiness = await checkReadiness(options);
      return sendJson(response, readiness.ready ? 200 : 503, readiness);
    }
    case '/metrics':
      response.writeHead(200, { 'content-type': options.registry.contentType });
      response.end(await options.readMetrics());
      return;
    default:
      return sendJson(response, 404, { error: 'Not found' });
  }
}

/**
 * Those who ask before the next result is begun share it: it is never older than the question, and to make it takes a
 * tenth of the time at most.
 */
function shareNext<Result>(make: () => Promise<Result>): () => Promise<Result> {
  const nowMs = systemClock.monotonicMs;
  let next: Promise<Result> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let restsUntilMs = 0;
  async function makeAfter(before: Promise<unknown>): Promise<Result> {
    await before.catch(() => {});
    const restMs = restsUntilMs - nowMs();
    if (restMs > 0) await sleep(restMs);
    next = undefined;
    const startedMs = nowMs();
    try {
      return await make();
    } finally {
      const endedMs = nowMs();
      restsUntilMs = endedMs + Math.min(MAX_REST_MS, REST_FACTOR * (endedMs - startedMs));
    }
  }
  return () => {
    next ??= makeAfter(last);
    last = next;
    return next;
  };
}

interface Readiness {
  ready: boolean;
  /** `ok`, or the problem. */
  checks: Record<string, string>;
}

async function checkReadiness({ checks, stopping }: OpsServerOptions): Promise<Readiness> {
  const results = Object.entries(checks).map(async ([name, check]) => [name, await runCheck(check)] as const);
  const outcomes = Object.fromEntries(await Promise.all(results));
  if (stopping?.aborted) outcomes.lifecycle = 'stopping';
  return { ready: Object.values(outcomes).every((outcome) => outcome === 'ok'), checks: outcomes };
}

async function runCheck(check: ReadinessCheck): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, CHECK_TIMEOUT_MS, 'no answer in time');
  });
  try {
    return await Promise.race([Promise.resolve(check()).then(() => 'ok'), timeout]);
  } catch (thrown) {
    return toError(thrown).message;
  } finally {
    clearTimeout(timer);
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
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

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
