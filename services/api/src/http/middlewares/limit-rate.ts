import { LIMITS, RATE_LIMITS, type RateLimitBucket } from '@gateway/contracts/limits';
import { addressLimitKey, tokenLimitKey, workspaceKeys } from '@gateway/contracts/redis-keys';
import { countRequestOfAddress, countRequestOfToken } from '@gateway/store/limits/count-request';
import type { ApiDeps } from '../../api-deps.js';
import { setLimitHeaders } from '../address-windows.js';
import { LimitBlocks, tooMany } from '../limit-blocks.js';
import { localsOf } from '../request-locals.js';
import { type AddressLimit, limitAddress } from './limit-address.js';
import type { Step } from './step.js';

export interface RateLimits {
  /** Counts a request of the token in this bucket. */
  byToken(bucket: RateLimitBucket): Step;
  /** Counts requests without a valid token, for all replicas together. */
  failedTokens: AddressLimit;
  /** Counts requests that need no token, in this process. */
  tokenless: AddressLimit;
}

/** Check 3: requests per minute, counted in Redis, so that any number of replicas count together. */
export function createRateLimits(deps: ApiDeps): RateLimits {
  const { store, tokenless } = deps;
  return {
    byToken: (bucket) => limitToken(deps, bucket),
    failedTokens: limitAddress(deps, 'failed-tokens', async (address) => {
      const key = addressLimitKey(store.space, 'failed-tokens', address);
      const { requests, leftMs } = await countRequestOfAddress(store, key);
      return { isTooMany: requests > LIMITS.failedTokensPerMinute, waitMs: leftMs };
    }),
    tokenless: limitAddress(deps, 'tokenless', (address) => tokenless.count(address)),
  };
}

/** Beyond it this process refuses the token alone, until the window ends: a flood is to cost little, and to fill no log. */
function limitToken(deps: ApiDeps, bucket: RateLimitBucket): Step {
  const { clock, store, metrics } = deps;
  const limit = RATE_LIMITS[bucket];
  const blocks = new LimitBlocks(deps, 'tokenId', bucket);
  return (_req, res) => {
    const { keyId, workspace } = localsOf(res).token!;
    const waitMs = blocks.refuse(keyId);
    if (waitMs !== undefined) {
      localsOf(res).isQuiet = true;
      setLimitHeaders(res, clock, { limit, remaining: 0, waitMs });
      throw tooMany(waitMs);
    }
    const counter = tokenLimitKey(store.space, workspace, bucket, keyId);
    const counted = countRequestOfToken(store, counter, workspaceKeys(store.space, workspace).token(keyId));
    return counted.then(({ requests, leftMs }) => {
      setLimitHeaders(res, clock, { limit, remaining: limit - requests, waitMs: leftMs });
      if (requests <= limit) return;
      metrics.countRateLimited(bucket);
      blocks.begin(keyId, leftMs);
      throw tooMany(leftMs);
    });
  };
}
