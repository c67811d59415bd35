import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import type { LaneState } from '@gateway/store/webhooks/delivering/lanes';

/** A bound on the changes of a request, where an endpoint has said that there were too many. Without one it is `WEBHOOK_LIMITS.maxChanges`. */
export type RequestSize = Pick<LaneState, 'most' | 'growsAfter'>;

/** In the end one request in so many is above the limit of an endpoint. */
const MOST_REQUESTS = 64;

/**
 * After a 413. Where the bound had just been doubled, it takes twice as many requests until it is doubled again.
 * @param changes of the request that was too large
 */
export function halved({ growsAfter }: RequestSize, changes: number): Required<RequestSize> {
  const { requests: former = 1, isNew } = growsAfter ?? {};
  const requests = isNew ? Math.min(2 * former, MOST_REQUESTS) : former;
  return { most: Math.floor(changes / 2), growsAfter: { requests, left: requests } };
}

/** After a request that was taken. Those that are far below the bound say nothing of it. Where a doubled bound holds, it takes half as many until the next. */
export function grown({ most, growsAfter }: RequestSize, changes: number): RequestSize {
  if (most === undefined) return {};
  if (2 * changes <= most) return { most, ...(growsAfter && { growsAfter }) };
  const { requests: former, left, isNew } = growsAfter ?? { requests: 1, left: 1 };
  const requests = isNew ? Math.max(former / 2, 1) : former;
  const isDue = Math.min(left, requests) <= 1;
  if (!isDue) return { most, growsAfter: { requests, left: Math.min(left, requests) - 1 } };
  if (most >= WEBHOOK_LIMITS.maxChanges) return {};
  return { most: Math.min(2 * most, WEBHOOK_LIMITS.maxChanges), growsAfter: { requests, left: requests, isNew: true } };
}
