import { createHash } from 'node:crypto';
import type { Express, RequestHandler } from 'express';
import { buildOpenApi } from '../documents/build-openapi.js';
import { renderPage } from '../documents/render-page.js';
import type { Endpoint } from '../endpoint.js';
import { localsOf } from '../request-locals.js';

/** The API's own documents, which need no token: paths below the base path. */
export const DOCUMENT_PATHS = ['/openapi.json', '/docs'] as const;

/** Serves the OpenAPI document and a page of it. Made once: they change with the code only. */
export function serveDocuments(app: Express, endpoints: readonly Endpoint[], basePath: string): void {
  const document = buildOpenApi(endpoints, basePath);
  const [jsonPath, pagePath] = DOCUMENT_PATHS;
  app.get(`${basePath}${jsonPath}`, serve(jsonPath, 'application/json; charset=utf-8', JSON.stringify(document)));
  app.get(`${basePath}${pagePath}`, serve(pagePath, 'text/html; charset=utf-8', renderPage(document)));
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
