import { ApiError } from '@gateway/runtime/errors';
import type { RequestHandler } from 'express';
import type { Endpoint } from '../endpoint.js';
import { localsOf } from '../request-locals.js';

/** Between check 3 and 4: whether the token may do this at all. Throws 403, before a body is read. */
export function requireScope({ scope, ofWorkspace }: Pick<Endpoint, 'scope' | 'ofWorkspace'>): RequestHandler {
  return (_req, res, next) => {
    const token = localsOf(res).token!;
    if (!token.scopes.includes(scope)) throw refuse(`needs the scope ${scope}`);
    if (ofWorkspace && token.device !== undefined) throw refuse('is not for tokens of one device');
    next();
  };
}

function refuse(message: string): ApiError {
  return new ApiError('not_allowed', { details: [{ path: ['scope'], message }] });
}
