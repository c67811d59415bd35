import { ApiError } from '@gateway/runtime/errors';
import type { RequestHandler } from 'express';
import type { Endpoint } from '../endpoint.js';

/** 404, after the token and the limit of unknown paths. */
export const refusePath: RequestHandler = () => {
  throw new ApiError('not_found');
};

/** 405, with the methods that the path has. */
export function refuseMethod(allowed: readonly string[]): RequestHandler {
  return () => {
    throw new ApiError('method_not_allowed', { headers: { Allow: allowed.join(', ') } });
  };
}

/** What a path answers. HEAD is GET without the body; where GET means the same as POST it would do something, and is none. */
export function allowedMethods({ methods }: Pick<Endpoint, 'methods'>): string[] {
  const withHead = methods.includes('get') && !methods.includes('post');
  return methods.flatMap((method) => (method === 'get' && withHead ? ['GET', 'HEAD'] : [method.toUpperCase()]));
}

/** A path that is not valid percent-encoding is unknown like any other; the router would stop before the limits. */
export function divertBrokenPath(limit: RequestHandler): RequestHandler {
  return (req, res, next) => {
    if (isDecodable(req.path)) return next();
    return limit(req, res, (error) => next(error ?? new ApiError('not_found')));
  };
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
