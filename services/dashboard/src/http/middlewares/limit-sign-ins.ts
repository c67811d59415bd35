import { userNameOf } from '@gateway/contracts/console/users';
import { consoleKeys } from '@gateway/contracts/redis-keys';
import { callerAddress } from '@gateway/runtime/http/caller-address';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { digestOf } from '@gateway/store/console/digest';
import type { Request, RequestHandler } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import { type RedisReply, RedisStore } from 'rate-limit-redis';
import type { DashboardDeps } from '../../dashboard-deps.js';
import { ConsoleError } from '../console-error.js';

const WINDOW_MS = 60_000;
/** Failures a minute. Of an account it is enough for fingers that slip, and 7 million attempts in a year for those who guess. */
const LIMITS = { address: 20, account: 10 } as const;

/** Counts attempts that failed, of all replicas together: of an address, and of an account from wherever they come. */
export function limitSignIns(deps: DashboardDeps): RequestHandler[] {
  return [
    limitBy(deps, 'address', (req) => ipKeyGenerator(callerAddress(req))),
    limitBy(deps, 'account', (req) => digestOf(accountOf(req))),
  ];
}

/** However its name was typed. */
function accountOf({ body, ip = '' }: Request): string {
  const { name } = (body ?? {}) as { name?: unknown };
  return typeof name === 'string' ? userNameOf(name) : ip;
}

/**
 * The limiter loads its script into Redis when it is made, and stays broken if that fails: it is made when the first request
 * finds Redis ready, and thrown away on the first error.
 */
function limitBy(deps: DashboardDeps, bucket: keyof typeof LIMITS, keyOf: (req: Request) => string): RequestHandler {
  let limiter: RequestHandler | undefined;
  return (req, res, next) => {
    if (!limiter && deps.store.redis.status !== 'ready') throw new ConsoleError('unavailable');
    limiter ??= makeLimiter(deps, bucket, keyOf);
    return limiter(req, res, (error) => {
      if (error && !(error instanceof ConsoleError)) limiter = undefined;
      next(error);
    });
  };
}

function makeLimiter(
  { store, logger }: DashboardDeps,
  bucket: keyof typeof LIMITS,
  keyGenerator: (req: Request) => string,
): RequestHandler {
  return rateLimit({
    windowMs: WINDOW_MS,
    limit: LIMITS[bucket],
    keyGenerator,
    skipSuccessfulRequests: true,
    // Who was told to come again has guessed nothing.
    requestWasSuccessful: (_req, { statusCode }) => statusCode < 400 || statusCode === 503,
    standardHeaders: false,
    legacyHeaders: false,
    // Its checks of our set-up print to the console.
    validate: false,
    logger: {
      warn: (error) => logger.warn('rate limiter', { error }),
      error: (error) => logger.warn('rate limiter', { error }),
    },
    store: new RedisStore({
      prefix: `${consoleKeys(store.space).rateLimits}sign-in-${bucket}:`,
      sendCommandCluster: async ({ key, command: [name, ...args] }) => {
        const node = key === undefined ? store.redis : masterOfKey(store.redis, key);
        return node.call(name!, ...args) as Promise<RedisReply>;
      },
    }),
    handler: (_req, _res, next) => next(new ConsoleError('rate_limited', { resetInSeconds: WINDOW_MS / 1000 })),
  });
}
