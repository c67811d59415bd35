import { createHash } from 'node:crypto';
import type { Express, RequestHandler } from 'express';
import { buildOpenApi } from '../../documents/build-openapi.js';
import { renderPage } from '../../documents/render-page.js';
import type { Endpoint } from '../endpoint.js';
import { localsOf } from '../request-locals.js';

/** The API's own documents, which need no token: paths below the base path. */
export const DOCUMENT_PATHS = ['/openapi.json', '/docs'] as const;

/** Serves the OpenAPI document and a page of it. Made once: they change with the code only. */
export function serveDocuments(
  app: Express,
  limit: RequestHandler,
  { endpoints, basePath }: { endpoints: readonly Endpoint[]; basePath: string },
): void {
  const document = buildOpenApi(endpoints, basePath);
  const [jsonPath, pagePath] = DOCUMENT_PATHS;
  app.get(
    `${basePath}${jsonPath}`,
    limit,
    serve(jsonPath, 'application/json; charset=utf-8', JSON.stringify(document)),
  );
  app.get(`${basePath}${pagePath}`, limit, serve(pagePath, 'text/html; charset=utf-8', renderPage(document)));
}

function serve(route: string, type: string, content: string): RequestHandler {
  const bytes = Buffer.from(content);
  const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"`;
  return (req, res) => {
    localsOf(res).route = route;
    res.set({
      'Content-Type': type,
      ETag: etag,
      'Cache-Control': 'no-cache',
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
    });
    if (req.fresh) res.status(304).end();
    // Not `res.send`: that would make a text of its own for each caller, and of each a hash.
    else res.set('Content-Length', String(bytes.length)).end(req.method === 'HEAD' ? undefined : bytes);
  };
}
