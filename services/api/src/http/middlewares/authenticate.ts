import { matchesHash, parseApiToken } from '@gateway/contracts/api-token';
import { ApiError, toError } from '@gateway/runtime/errors';
import { type ApiToken, isUsable, recordTokenUse } from '@gateway/store/workspace/api-tokens';
import type { Request, RequestHandler } from 'express';
import type { ApiDeps } from '../../api-deps.js';
import { KnownTokens } from '../known-tokens.js';
import { localsOf } from '../request-locals.js';
import type { AddressLimit } from './limit-address.js';

const BEARER = /^Bearer +(\S+) *$/i;

/**
 * Check 2: who is asking. Missing, malformed, unknown, revoked and expired tokens are answered alike, so that callers
 * cannot learn which ones exist. A revoked token stops working within a second, everywhere.
 * @param limitFailures runs for requests without a valid token only: valid ones pass whatever else their address does.
 */
export function authenticate(deps: ApiDeps, limitFailures: AddressLimit): RequestHandler {
  const { store, clock, logger } = deps;
  const known = new KnownTokens(deps);
  return async (req, res, next) => {
    const token = await checkToken(readToken(req), clock.nowMs(), (keyId) =>
      known.find(keyId, { isDoubtful: limitFailures.isUsedUp(req) }),
    );
    if (!token) {
      const refusal = new ApiError('invalid_token', { headers: { 'WWW-Authenticate': 'Bearer' } });
      return limitFailures.count(req, res, (error) => next(error ?? refusal));
    }
    localsOf(res).token = token;
    recordTokenUse(store, token, clock.nowMs()).catch((thrown: unknown) => {
      logger.warn('use of a token not recorded', { tokenId: token.keyId, error: toError(thrown) });
    });
    next();
  };
}

/** The header wins over the query. */
function readToken(req: Request): string | undefined {
  const bearer = BEARER.exec(req.get('authorization') ?? '');
  if (bearer) return bearer[1];
  const { token } = req.query;
  return typeof token === 'string' ? token : undefined;
}

async function checkToken(
  value: string | undefined,
  nowMs: number,
  find: (keyId: string) => Promise<ApiToken | undefined>,
): Promise<ApiToken | undefined> {
  const parsed = value === undefined ? undefined : parseApiToken(value);
  if (!value || !parsed) return undefined;
  const token = await find(parsed.keyId);
  return token && matchesHash(value, token.hash) && isUsable(token, nowMs) ? token : undefined;
}
