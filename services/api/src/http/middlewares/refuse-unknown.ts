import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gateway/runtime/errors';
import type { Endpoint } from '../endpoint.js';
import type { Step } from './step.js';

/** 404, after the token and the limit of unknown paths. */
export const refusePath: Step = () => {
  throw new ApiError('not_found');
};

/** 405, with the methods that the path has. */
export function refuseMethod(allowed: readonly string[]): Step {
  return () => {
    throw new ApiError('method_not_allowed', { headers: { Allow: allowed.join(', ') } });
  };
}

/** What a path answers. HEAD is GET without the body; where GET means the same as POST it would do something, and is none. */
export function allowedMethods({ methods }: Pick<Endpoint, 'methods'>): string[] {
  const withHead = methods.includes('get') && !methods.includes('post');
  return methods.flatMap((method) => (method === 'get' && withHead ? ['GET', 'HEAD'] : [method.toUpperCase()]));
}

/** A path that is not valid percent-encoding is unknown like any other; the router would stop before the token is checked. */
export function divertBrokenPath(req: IncomingMessage): void {
  const { url = '/' } = req;
  if (!url.includes('%')) return;
  const end = url.indexOf('?');
  const [path, query] = end === -1 ? [url, ''] : [url.slice(0, end), url.slice(end)];
  if (!isDecodable(path)) req.url = `/${query}`;
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
