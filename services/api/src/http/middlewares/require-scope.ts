import { ApiError } from '@gateway/runtime/errors';
import type { ApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import type { Endpoint } from '../endpoint.js';
import { localsOf } from '../request-locals.js';
import type { Step } from './step.js';

/** Between check 3 and 4: whether the token may do this at all. Throws 403, before a body is read. */
export function requireScope(endpoint: Pick<Endpoint, 'scope' | 'ofWorkspace'>): Step {
  return (_req, res) => checkScope(localsOf(res).token!, endpoint);
}

/** Throws 403. */
export function checkScope(token: ApiToken, { scope, ofWorkspace }: Pick<Endpoint, 'scope' | 'ofWorkspace'>): void {
  if (!token.scopes.includes(scope)) throw refuse(`needs the scope ${scope}`);
  if (ofWorkspace && token.device !== undefined) throw refuse('is not for tokens of one device');
}

function refuse(message: string): ApiError {
  return new ApiError('not_allowed', { details: [{ path: ['scope'], message }] });
}
