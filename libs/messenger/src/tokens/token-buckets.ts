import { systemClock } from '@gateway/runtime/clock';

/** As in the web client: a contact gets a new token in each period of this length, and the last four are valid. */
const BUCKET_SECONDS = 7 * 24 * 60 * 60;
const VALID_BUCKETS = 4;

export function nowSeconds(): number {
  return Math.floor(systemClock.nowMs() / 1000);
}

export function bucketOf(seconds: number): number {
  return Math.floor(seconds / BUCKET_SECONDS);
}

/** Whether a token of that time is still valid. */
export function isTokenValid(seconds: number, atSeconds = nowSeconds()): boolean {
  return bucketOf(seconds) > bucketOf(atSeconds) - VALID_BUCKETS;
}
