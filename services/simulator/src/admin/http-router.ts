import type { IncomingMessage, ServerResponse } from 'node:http';

/** One request of the control API, taken apart. */
export interface AdminRequest {
  readonly params: Record<string, string>;
  readonly query: URLSearchParams;
  /** The body as text; handlers that want JSON parse it. */
  readonly body: string;
}

/** JSON unless it is a string or bytes. */
export interface AdminAnswer {
  readonly status?: number;
  readonly type?: string;
  readonly body: unknown;
}

export type AdminHandler = (request: AdminRequest) => AdminAnswer | Promise<AdminAnswer>;

/** What a handler throws to answer with a 4xx. */
export class AdminError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Route {
  readonly method: string;
  readonly segments: readonly string[];
  readonly handler: AdminHandler;
}

const LARGEST_BODY_BYTES = 4 * 1024 * 1024;

/** `METHOD /path/:param` to handlers: all that a control API for tests needs. */
export class HttpRouter {
  readonly #routes: Route[] = [];

  on(pattern: string, handler: AdminHandler): void {
    const [method = '', path = ''] = pattern.split(' ');
    this.#routes.push({ method, segments: path.split('/'), handler });
  }

  async handle(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      write(response, await this.#answer(url, request));
    } catch (error) {
      const status = error instanceof AdminError ? error.status : 500;
      refuse(response, status, error instanceof Error ? error.message : String(error));
    }
  }

  async #answer(url: URL, request: IncomingMessage): Promise<AdminAnswer> {
    const segments = url.pathname.split('/');
    const sameShape = this.#routes.filter((route) => paramsOf(route, segments));
    if (sameShape.length === 0) throw new AdminError(404, 'no such path');
    const route = sameShape.find(({ method }) => method === request.method);
    if (!route) throw new AdminError(405, `use ${sameShape.map(({ method }) => method).join(', ')}`);
    const body = await readBody(request);
    return route.handler({ params: paramsOf(route, segments)!, query: url.searchParams, body });
  }
}

function paramsOf({ segments }: Route, given: readonly string[]): Record<string, string> | undefined {
  if (segments.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const value = given[index]!;
    if (segment.startsWith(':')) params[segment.slice(1)] = decode(value);
    else if (segment !== value) return undefined;
  }
  return params;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new AdminError(400, `cannot be read: ${segment}`);
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST_BODY_BYTES) throw new AdminError(413, 'body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Answers with `{ error }`. */
export function refuse(response: ServerResponse, status: number, error: string): void {
  write(response, { status, body: { error } });
}

function write(response: ServerResponse, { status = 200, type = 'application/json', body }: AdminAnswer): void {
  const raw = typeof body === 'string' || Buffer.isBuffer(body);
  response.writeHead(status, { 'content-type': type });
  response.end(raw ? body : JSON.stringify(body));
}
