import { LIMITS } from '@gateway/contracts/limits';
import { ApiError } from '@gateway/runtime/errors';
import type { Request, RequestHandler } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import type { ApiDeps } from '../../api-deps.js';
import { AddressBlocks, tooMany } from '../address-blocks.js';
import { localsOf } from '../request-locals.js';

/** A limit of requests by address. Beyond it an address is refused by this process alone until the limit begins anew. */
export interface AddressLimit {
  count: RequestHandler;
  isUsedUp(req: Request): boolean;
}

/** About 2 MB. Beyond it all begin anew. */
const MAX_WINDOWS = 10_000;

/** @param limit counts by `addressOf`, and refuses what is beyond. */
export function limitAddress(deps: ApiDeps, bucket: string, limit: RequestHandler): AddressLimit {
  const blocks = new AddressBlocks(deps, bucket);
  return {
    count(req, res, next) {
      const address = addressOf(req);
      const refusal = blocks.refuse(address);
      if (refusal) {
        localsOf(res).isQuiet = true;
        return next(refusal);
      }
      return limit(req, res, (error) => {
        if (error instanceof ApiError && error.resetInSeconds) blocks.begin(address, error.resetInSeconds);
        next(error);
      });
    },
    isUsedUp: (req) => blocks.has(addressOf(req)),
  };
}

/** Counts by address in this process alone. Not the limiter's own store: of requests that come at once it refuses all. */
export function limitHere({ clock, metrics }: ApiDeps, bucket: string, limit: number): RequestHandler {
  const windows = new Map<string, { requests: number; endsAtMs: number }>();
  return (req, _res, next) => {
    const address = addressOf(req);
    const nowMs = clock.monotonicMs();
    let window = windows.get(address);
    if (!window || window.endsAtMs <= nowMs) {
      if (windows.size >= MAX_WINDOWS) windows.clear();
      window = { requests: 0, endsAtMs: nowMs + LIMITS.rateLimitWindowSeconds * 1000 };
      windows.set(address, window);
    }
    window.requests++;
    if (window.requests <= limit) return next();
    metrics.rateLimited.inc({ bucket });
    next(tooMany(window.endsAtMs - nowMs));
  };
}

/** Of IPv6 the network: a caller has more addresses of it than anybody can count. */
export function addressOf(req: Request): string {
  return ipKeyGenerator(req.ip ?? '');
}
