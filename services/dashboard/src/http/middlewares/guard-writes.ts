import type { Request, RequestHandler } from 'express';
import { ConsoleError } from '../console-error.js';

/**
 * What changes something must come from a page of ours and be JSON, which no form of another site can send. Browsers say
 * where a request comes from (`Sec-Fetch-Site`); old ones at least from which origin. Who says neither is no browser.
 * Beside it the cookie is `SameSite=Strict`.
 */
export const guardWrites: RequestHandler = (req, _res, next) => {
  if (req.method === 'GET' || req.method === 'HEAD') return next();
  if (!isOfOurPage(req)) return next(new ConsoleError('foreign_request'));
  return next(req.is('application/json') ? undefined : new ConsoleError('unsupported_media_type'));
};

function isOfOurPage(req: Request): boolean {
  const site = req.get('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const origin = req.get('origin') ?? '';
  return URL.canParse(origin) && new URL(origin).host === req.get('host');
}
