import { ApiError } from '@gateway/runtime/errors';
import type { Endpoint } from '../endpoint.js';
import { localsOf } from '../request-locals.js';
import type { Step } from './step.js';

/** Between check 3 and 4: whether the token may do this at all. Throws 403, before a body is read. */
export function requireScope({ scope, ofWorkspace }: Pick<Endpoint, 'scope' | 'ofWorkspace'>): Step {
  return (_req, res) => {
    const token = localsOf(res).token!;
    if (!token.scopes.includes(scope)) throw refuse(`needs the scope ${scope}`);
    if (ofWorkspace && token.device !== undefined) throw refuse('is not for tokens of one device');
  };
}

function refuse(message: string): ApiError {
  return new ApiError('not_allowed', { details: [{ path: ['scope'], message }] });
}
