import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { GatewayError } from '@gateway/runtime/errors';
import type { RequestHandler, Response } from 'express';
import helmet from 'helmet';
import type { DashboardDeps } from '../dashboard-deps.js';
import { localsOf } from './locals.js';

/** What Vite was told to write where a nonce belongs. */
const NONCE = '__CSP_NONCE__';

/** For every answer but files: nothing may be loaded but from here, nothing runs that is not ours, and no page has us in a frame. */
export function secureHeaders({ publicUrl }: DashboardDeps): RequestHandler[] {
  const nonceOf = (_req: unknown, res: unknown) => `'nonce-${localsOf(res as Response).nonce}'`;
  const isHttps = publicUrl?.protocol === 'https:';
  return [
    (_req, res, next) => {
      localsOf(res).nonce = randomBytes(16).toString('base64');
      next();
    },
    helmet({
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'none'"],
          scriptSrc: ["'self'", nonceOf],
          styleSrc: ["'self'", nonceOf],
          imgSrc: ["'self'"],
          fontSrc: ["'self'"],
          connectSrc: ["'self'"],
          formAction: ["'self'"],
          baseUri: ["'none'"],
          frameAncestors: ["'none'"],
        },
      },
      referrerPolicy: { policy: 'no-referrer' },
      strictTransportSecurity: isHttps,
    }),
  ];
}

/**
 * The files of the page, which never change under their names, compressed when they were built. They are read once: a file
 * that a new version takes away while this process runs must not be missing, nor end it.
 */
export function serveAssets({ pageFolder }: DashboardDeps): RequestHandler {
  const assets = readAssets(join(pageFolder, 'assets'));
  return (req, res, next) => {
    const asset = assets.get(req.path.slice(1));
    if (!asset || (req.method !== 'GET' && req.method !== 'HEAD')) return next();
    res.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
    res.setHeader('Vary', 'Accept-Encoding');
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    const isCompressed = asset.brotli !== undefined && req.acceptsEncodings('br') === 'br';
    if (isCompressed) res.setHeader('Content-Encoding', 'br');
    res.type(asset.type).send(isCompressed ? asset.brotli : asset.plain);
  };
}

interface Asset {
  type: string;
  plain: Buffer;
  brotli?: Buffer;
}

function readAssets(folder: string): Map<string, Asset> {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const read = (name: string) => readFileSync(join(folder, name));
  const assets = names
    .filter((name) => !name.endsWith('.br'))
    .map((name): [string, Asset] => {
      const brotli = names.includes(`${name}.br`) && { brotli: read(`${name}.br`) };
      return [name, { type: extname(name), plain: read(name), ...brotli }];
    });
  return new Map(assets);
}

/** The one HTML file, for every address: with a nonce of its own each time, so that no copy of it is kept. */
export function servePage({ pageFolder }: DashboardDeps): RequestHandler {
  const html = readPage(join(pageFolder, 'index.html'));
  return (_req, res) => {
    res.setHeader('Cache-Control', 'no-store');
    res.type('html').send(html.replaceAll(NONCE, localsOf(res).nonce));
  };
}

function readPage(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new GatewayError({ code: 'no_page', message: 'The page of the console is not built: npm run build', cause });
  }
}
