import { createHash } from 'node:crypto';
import { type RequestHandler, Router } from 'express';
import { buildOpenApi } from '../documents/build-openapi.js';
import { renderPage } from '../documents/render-page.js';
import type { Endpoint } from '../endpoint.js';
import { localsOf } from '../request-locals.js';

/** The API's own documents, which need no token: paths below the base path. */
export const DOCUMENT_PATHS = ['/openapi.json', '/docs'] as const;

/** Serves the OpenAPI document and a page of it. Made once: they change with the code only. */
export function serveDocuments(endpoints: readonly Endpoint[], basePath: string): Router {
  const document = buildOpenApi(endpoints, basePath);
  const [jsonPath, pagePath] = DOCUMENT_PATHS;
  const router = Router({ caseSensitive: true });
  router.get(`${basePath}${jsonPath}`, serve(jsonPath, 'application/json; charset=utf-8', JSON.stringify(document)));
  router.get(`${basePath}${pagePath}`, serve(pagePath, 'text/html; charset=utf-8', renderPage(document)));
  return router;
}

function serve(route: string, type: string, content: string): RequestHandler {
  const etag = `"${createHash('sha256').update(content).digest('hex').slice(0, 16)}"`;
  return (_req, res) => {
    localsOf(res).route = route;
    res.set({
      'Content-Type': type,
      ETag: etag,
      'Cache-Control': 'no-cache',
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
    });
    res.send(content);
  };
}
