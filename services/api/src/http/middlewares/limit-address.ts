import { callerAddress } from '@gateway/runtime/http/caller-address';
import type { Request, Response } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import type { ApiDeps } from '../../api-deps.js';
import type { Counted } from '../address-windows.js';
import { LimitBlocks, tooMany } from '../limit-blocks.js';
import { localsOf } from '../request-locals.js';

/** A limit of requests by address. Beyond it an address is refused by this process alone until the limit starts again. */
export interface AddressLimit {
  /** Throws 429 beyond the limit. */
  count(req: Request, res: Response): Promise<void>;
  isUsedUp(req: Request): boolean;
}

/** @param count of an address; its headers are shown, if it has any. */
export function limitAddress(
  deps: ApiDeps,
  bucket: string,
  count: (address: string) => Counted | Promise<Counted>,
): AddressLimit {
  const blocks = new LimitBlocks(deps, 'address', bucket);
  return {
    async count(req, res) {
      const address = addressOf(req);
      const blockedMs = blocks.refuse(address);
      if (blockedMs !== undefined) {
        localsOf(res).isQuiet = true;
        throw tooMany(blockedMs);
      }
      const { isTooMany, waitMs, headers } = await count(address);
      if (headers) res.set(headers);
      if (!isTooMany) return;
      deps.metrics.countRateLimited(bucket);
      blocks.begin(address, waitMs);
      throw tooMany(waitMs);
    },
    isUsedUp: (req) => blocks.has(addressOf(req)),
  };
}

/** Of IPv6 the network: a caller has more addresses of it than anybody can count. */
function addressOf(req: Request): string {
  return ipKeyGenerator(callerAddress(req));
}
