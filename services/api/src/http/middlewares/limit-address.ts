import { ApiError } from '@gateway/runtime/errors';
import type { Request, RequestHandler } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import type { ApiDeps } from '../../api-deps.js';
import { LimitBlocks, tooMany } from '../limit-blocks.js';
import { localsOf } from '../request-locals.js';

/** A limit of requests by address. Beyond it an address is refused by this process alone until the limit starts again. */
export interface AddressLimit {
  count: RequestHandler;
  isUsedUp(req: Request): boolean;
}

/** @param limit counts by `addressOf`, and refuses what is beyond. */
export function limitAddress(deps: ApiDeps, bucket: string, limit: RequestHandler): AddressLimit {
  const blocks = new LimitBlocks(deps, 'address', bucket);
  return {
    count(req, res, next) {
      const address = addressOf(req);
      const waitMs = blocks.refuse(address);
      if (waitMs !== undefined) {
        localsOf(res).isQuiet = true;
        return next(tooMany(waitMs));
      }
      return limit(req, res, (error) => {
        if (error instanceof ApiError && error.resetInSeconds) blocks.begin(address, error.resetInSeconds * 1000);
        next(error);
      });
    },
    isUsedUp: (req) => blocks.has(addressOf(req)),
  };
}

/** Counts by address in this process alone. */
export function limitHere({ tokenless, metrics }: ApiDeps, bucket: string): RequestHandler {
  return (req, res, next) => {
    const { isTooMany, waitMs, headers } = tokenless.count(addressOf(req));
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    if (!isTooMany) return next();
    metrics.countRateLimited(bucket);
    next(tooMany(waitMs));
  };
}

/** Of IPv6 the network: a caller has more addresses of it than anybody can count. */
export function addressOf(req: Request): string {
  return ipKeyGenerator(req.ip ?? '');
}
