import { matchesHash, parseApiToken } from '@gateway/contracts/api-token';
import { toError } from '@gateway/runtime/errors';
import { type ApiToken, isUsable, recordTokenUse } from '@gateway/store/workspace/tokens/api-tokens';
import type { Request, Response } from 'express';
import type { ApiDeps } from '../../api-deps.js';
import { invalidToken, type KnownTokens } from '../known-tokens.js';
import { localsOf } from '../request-locals.js';
import type { AddressLimit } from './limit-address.js';
import type { Step } from './step.js';

const BEARER = /^Bearer +(\S+) *$/i;

interface AuthenticateDeps extends Pick<ApiDeps, 'store' | 'clock' | 'logger'> {
  known: KnownTokens;
}

/**
 * Check 2: who is asking. Missing, malformed, unknown, revoked and expired tokens are answered alike, so that callers
 * cannot learn which ones exist. A revoked token stops working within a second, everywhere: a process that
 * may be cut off together with a master that was replaced refuses all of them with a 503, where replicas are waited for (`KnownTokens`).
 * @param limitFailures runs for requests without a valid token only: valid ones pass whatever else their address does.
 */
export function authenticate({ store, clock, logger, known }: AuthenticateDeps, limitFailures: AddressLimit): Step {
  const find = (req: Request, keyId: string) =>
    known.get(keyId) ?? known.find(keyId, { isDoubtful: limitFailures.isUsedUp(req) });
  const admit = (res: Response, token: ApiToken) => {
    localsOf(res).token = token;
    recordTokenUse(store, token, clock.nowMs())?.catch((thrown: unknown) => {
      logger.warn('use of a token not recorded', { tokenId: token.keyId, error: toError(thrown) });
    });
  };
  const refuse = async (req: Request, res: Response) => {
    await limitFailures.count(req, res);
    throw invalidToken();
  };
  return (req, res) => {
    const value = readToken(req);
    const parsed = value === undefined ? undefined : parseApiToken(value);
    if (value === undefined || !parsed) return refuse(req, res);
    const decide = (token: ApiToken | undefined) =>
      isValid(token, value, clock.nowMs()) ? admit(res, token) : refuse(req, res);
    const found = find(req, parsed.keyId);
    return found instanceof Promise ? found.then(decide) : decide(found);
  };
}

/** The header wins over the query. */
function readToken(req: Request): string | undefined {
  const bearer = BEARER.exec(req.headers.authorization ?? '');
  if (bearer) return bearer[1];
  const { token } = req.query;
  return typeof token === 'string' ? token : undefined;
}

function isValid(token: ApiToken | undefined, value: string, nowMs: number): token is ApiToken {
  return token !== undefined && matchesHash(value, token.hash) && isUsable(token, nowMs);
}
