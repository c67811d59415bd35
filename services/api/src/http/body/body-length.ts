import type { Request } from 'express';

/** Of a body whose end the caller will mark. */
export const UNTIL_TOLD = Number.POSITIVE_INFINITY;

/** How long a body is said to be; 0 without one. */
export function bodyLength(req: Request): number {
  if (req.get('transfer-encoding') !== undefined) return UNTIL_TOLD;
  return Number(req.get('content-length') ?? 0);
}
