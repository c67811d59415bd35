import type { ServerResponse } from 'node:http';
import { LIMITS } from '@gateway/contracts/limits';
import type { Clock } from '@gateway/runtime/clock';

/** About 2 MB. Beyond it all windows start again. */
const MAX_WINDOWS = 10_000;

/** One request counted. */
export interface Counted {
  isTooMany: boolean;
  waitMs: number;
  /** `X-RateLimit-Limit`, `-Remaining` and `-Reset`. */
  headers?: Record<string, string>;
}

/**
 * Requests of an address in this process, in the minute that begins with the first of them. Not the store of the limiter's
 * library: of requests that come at once it refuses all.
 */
export class AddressWindows {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #windows = new Map<string, { requests: number; endsAtMs: number }>();

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  count(address: string): Required<Counted> {
    const nowMs = this.#clock.monotonicMs();
    let window = this.#windows.get(address);
    if (!window || window.endsAtMs <= nowMs) {
      if (this.#windows.size >= MAX_WINDOWS) this.#windows.clear();
      window = { requests: 0, endsAtMs: nowMs + LIMITS.rateLimitWindowSeconds * 1000 };
      this.#windows.set(address, window);
    }
    window.requests++;
    const waitMs = window.endsAtMs - nowMs;
    return {
      isTooMany: window.requests > this.#limit,
      waitMs,
      headers: limitHeaders(this.#clock, { limit: this.#limit, remaining: this.#limit - window.requests, waitMs }),
    };
  }
}

interface Limit {
  limit: number;
  remaining: number;
  /** Until it starts again. */
  waitMs: number;
}

function limitHeaders(clock: Clock, { limit, remaining, waitMs }: Limit): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(Math.max(0, remaining)),
    'X-RateLimit-Reset': String(Math.ceil((clock.nowMs() + waitMs) / 1000)),
  };
}

/** Of a caller who turns out to be unknown: it is told no more than others are. */
export function removeLimitHeaders(res: ServerResponse): void {
  for (const name of ['Limit', 'Remaining', 'Reset']) res.removeHeader(`X-RateLimit-${name}`);
}

/** The same three headers, unless it was answered meanwhile. */
export function setLimitHeaders(res: ServerResponse, clock: Clock, limit: Limit): void {
  if (res.headersSent) return;
  for (const [name, value] of Object.entries(limitHeaders(clock, limit))) res.setHeader(name, value);
}
