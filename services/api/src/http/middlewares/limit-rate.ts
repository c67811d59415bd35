import { LIMITS, RATE_LIMITS, type RateLimitBucket } from '@gateway/contracts/limits';
import { addressLimitKey, tokenLimitKey } from '@gateway/contracts/redis-keys';
import { ApiError } from '@gateway/runtime/errors';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import type { Request, RequestHandler } from 'express';
import { type Options, type RateLimitInfo, rateLimit, type Store } from 'express-rate-limit';
import { type RedisReply, RedisStore } from 'rate-limit-redis';
import type { ApiDeps } from '../../api-deps.js';
import { limitHeaders } from '../address-windows.js';
import { LimitBlocks, tooMany } from '../limit-blocks.js';
import { localsOf } from '../request-locals.js';
import { type AddressLimit, addressOf, limitAddress, limitHere } from './limit-address.js';

export interface RateLimits {
  /** Counts a request of the token in this bucket. */
  byToken(bucket: RateLimitBucket): RequestHandler;
  /** Counts requests without a valid token, for all replicas together. */
  failedTokens: AddressLimit;
  /** Counts requests that need no token, in this process. */
  tokenless: AddressLimit;
}

/** Check 3: requests per minute, counted in Redis, so that any number of replicas count together. */
export function createRateLimits(deps: ApiDeps): RateLimits {
  const { space } = deps.store;
  return {
    byToken: (bucket) => limitToken(deps, bucket),
    failedTokens: limitAddress(
      deps,
      'failed-tokens',
      limitRate(deps, {
        ...{ bucket: 'failed-tokens', limit: LIMITS.failedTokensPerMinute },
        ...{ legacyHeaders: false, countsAlways: false },
        keyGenerator: (req) => addressLimitKey(space, 'failed-tokens', addressOf(req)),
      }),
    ),
    tokenless: limitAddress(deps, 'tokenless', limitHere(deps, 'tokenless')),
  };
}

/** Beyond it this process refuses the token alone, until the window ends: a flood is to cost little, and to fill no log. */
function limitToken(deps: ApiDeps, bucket: RateLimitBucket): RequestHandler {
  const { clock, store } = deps;
  const limit = RATE_LIMITS[bucket];
  const blocks = new LimitBlocks(deps, 'tokenId', bucket);
  const count = limitRate(deps, {
    ...{ bucket, limit, legacyHeaders: true, countsAlways: true },
    keyGenerator: (_req, res) => {
      const { workspace, keyId } = localsOf(res).token!;
      return tokenLimitKey(store.space, workspace, bucket, keyId);
    },
  });
  return (req, res, next) => {
    const { keyId } = localsOf(res).token!;
    const waitMs = blocks.refuse(keyId);
    if (waitMs === undefined) {
      return count(req, res, (error) => {
        if (error instanceof ApiError && error.apiCode === 'rate_limited') blocks.begin(keyId, msToReset(req));
        next(error);
      });
    }
    localsOf(res).isQuiet = true;
    res.set(limitHeaders(clock, limit, 0, waitMs));
    return next(tooMany(waitMs));
  };
}

type LimitOptions = Pick<Options, 'limit' | 'legacyHeaders' | 'keyGenerator'> & { bucket: string };

type SharedLimitOptions = LimitOptions & {
  /** Also when Redis is full: there is one counter for each token. Of addresses there are as many as callers like. */
  countsAlways: boolean;
};

/**
 * The limiter loads its script into Redis when it is made, and stays broken if that fails. So it is made when the first
 * request finds Redis ready, and thrown away on the first error: the next request makes another.
 */
function limitRate(deps: ApiDeps, { countsAlways, ...options }: SharedLimitOptions): RequestHandler {
  const { redis } = deps.store;
  let limiter: RequestHandler | undefined;
  return (req, res, next) => {
    if (!limiter && redis.status !== 'ready') throw new ApiError('unavailable');
    limiter ??= makeLimiter(deps, { ...options, store: sharedStore(deps, countsAlways) });
    return limiter(req, res, (error) => {
      if (error && !(error instanceof ApiError)) limiter = undefined;
      next(error);
    });
  };
}

function makeLimiter(
  { metrics, logger }: ApiDeps,
  { bucket, ...options }: LimitOptions & { store: Store },
): RequestHandler {
  return rateLimit({
    ...options,
    windowMs: LIMITS.rateLimitWindowSeconds * 1000,
    standardHeaders: false,
    // Its checks of our set-up print to the console, and one of them keeps every store that was ever made.
    validate: false,
    logger: {
      warn: (error) => logger.warn('rate limiter', { error }),
      error: (error) => logger.warn('rate limiter', { error }),
    },
    handler: (req, _res, next) => {
      metrics.countRateLimited(bucket);
      next(tooMany(msToReset(req)));
    },
  });
}

function sharedStore({ store }: ApiDeps, countsAlways: boolean): Store {
  return new RedisStore({
    prefix: '',
    sendCommandCluster: async ({ key, command: [name, ...args] }) => {
      // Of a Cluster each node has scripts of its own, and a script is loaded into the one of the counter.
      const node = key === undefined ? store.redis : masterOfKey(store.redis, key);
      return node.call(name!, ...(countsAlways ? args.map(allowWhenFull) : args)) as Promise<RedisReply>;
    },
  });
}

/** The limiter's scripts come to Redis as `SCRIPT LOAD text`. */
function allowWhenFull(argument: string): string {
  return argument.includes('redis.call') ? `#!lua flags=allow-oom\n${argument}` : argument;
}

function msToReset(req: Request): number {
  const { resetTime } = (req as Request & { rateLimit: RateLimitInfo }).rateLimit;
  return (resetTime?.getTime() ?? 0) - Date.now();
}
