import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createGunzip } from 'node:zlib';
import type { Express, RequestHandler } from 'express';
import { buildOpenApi, type OpenApi } from '../../documents/build-openapi.js';
import { renderReference } from '../../documents/render-reference.js';
import type { Endpoint } from '../endpoint.js';
import { localsOf } from '../request-locals.js';
import type { Step } from './step.js';

/** The API's own documents, which need no token: paths below the base path. */
export const DOCUMENT_PATHS = ['/openapi.json', '/docs', '/docs/reference.js'] as const;

/** Made by `npm run build`. */
const PROGRAM = fileURLToPath(new URL('../../reference/reference.js.gz', import.meta.url));
const NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Serves the OpenAPI document, and a page that shows it and tries it out. Both change with the code only, and are made when they are
 * first asked for, which most processes never are.
 */
export function serveDocuments(
  app: Express,
  limit: Step,
  { endpoints, basePath }: { endpoints: readonly Endpoint[]; basePath: string },
): void {
  let made: Record<'json' | 'page', RequestHandler> | undefined;
  const make = () => {
    const document = buildOpenApi(endpoints, basePath);
    const json = serveFixed('application/json; charset=utf-8', Buffer.from(JSON.stringify(document)));
    return { json, page: servePage(document) };
  };
  const lazily =
    (name: 'json' | 'page'): RequestHandler =>
    (...request) => {
      made ??= make();
      return made[name](...request);
    };
  const [jsonPath, pagePath, programPath] = DOCUMENT_PATHS;
  const serve = (path: string, handler: RequestHandler) =>
    app.get(`${basePath}${path}`, async (req, res, next) => {
      await limit(req, res);
      localsOf(res).route = path;
      res.set({ 'X-Content-Type-Options': 'nosniff', 'Content-Security-Policy': NOTHING, 'Cache-Control': 'no-cache' });
      return handler(req, res, next);
    });
  serve(jsonPath, lazily('json'));
  serve(pagePath, lazily('page'));
  if (existsSync(PROGRAM)) serve(programPath, serveProgram(readFileSync(PROGRAM)));
}

function serveFixed(type: string, bytes: Buffer): RequestHandler {
  const etag = etagOf(bytes);
  return (req, res) => {
    res.set({ 'Content-Type': type, ETag: etag });
    if (req.fresh) res.status(304).end();
    // Not `res.send`: that would make a text of its own for each caller, and of each a hash.
    else res.set('Content-Length', String(bytes.length)).end(req.method === 'HEAD' ? undefined : bytes);
  };
}

/** With a nonce of its own each time: the program makes styles, and no one else may. */
function servePage(document: OpenApi): RequestHandler {
  return (req, res) => {
    const nonce = randomBytes(16).toString('base64');
    const allowed = `script-src 'self'; style-src 'nonce-${nonce}'; img-src 'self' data:; connect-src 'self'`;
    res.set({
      'Cache-Control': 'no-store',
      'Content-Security-Policy': `${NOTHING}; ${allowed}`,
      'Referrer-Policy': 'no-referrer',
    });
    const page = Buffer.from(renderReference(document, nonce));
    res.set({ 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': String(page.length) });
    res.end(req.method === 'HEAD' ? undefined : page);
  };
}

/** @param packed with gzip, which every browser reads; others get it plain. */
function serveProgram(packed: Buffer): RequestHandler {
  const type = 'text/javascript; charset=utf-8';
  const serveSmall = serveFixed(type, packed);
  return (req, res, next) => {
    res.vary('Accept-Encoding');
    if (req.acceptsEncodings('gzip') === 'gzip') {
      res.set('Content-Encoding', 'gzip');
      return serveSmall(req, res, next);
    }
    res.set('Content-Type', type);
    if (req.method === 'HEAD') res.end();
    else Readable.from([packed]).pipe(createGunzip()).pipe(res);
  };
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"`;
}
