import { ApiError } from '@gateway/runtime/errors';
import type { ApiDeps } from '../api-deps.js';

/** About 2 MB. Beyond it addresses are counted where all are. */
const MAX_BLOCKED = 10_000;

interface Block {
  untilMs: number;
  refused: number;
}

/**
 * Addresses that have used up a limit, until it begins anew: this process refuses them by itself, without a question to
 * Redis and without a line in the log for each request. What they asked meanwhile is one line, at the end.
 */
export class AddressBlocks {
  readonly #deps: Pick<ApiDeps, 'clock' | 'logger' | 'metrics'>;
  readonly #bucket: string;
  readonly #blocks = new Map<string, Block>();

  /** @param bucket names the limit, in logs and metrics. */
  constructor(deps: Pick<ApiDeps, 'clock' | 'logger' | 'metrics'>, bucket: string) {
    this.#deps = deps;
    this.#bucket = bucket;
  }

  has(address: string): boolean {
    return this.#blocks.has(address);
  }

  /** What a request from there is answered, if the address is blocked. Counts it. */
  refuse(address: string): ApiError | undefined {
    const block = this.#blocks.get(address);
    if (!block) return undefined;
    block.refused++;
    this.#deps.metrics.rateLimited.inc({ bucket: this.#bucket });
    return tooMany(block.untilMs - this.#deps.clock.monotonicMs());
  }

  begin(address: string, seconds: number): void {
    if (this.#blocks.size >= MAX_BLOCKED || this.#blocks.has(address)) return;
    this.#blocks.set(address, { untilMs: this.#deps.clock.monotonicMs() + seconds * 1000, refused: 0 });
    setTimeout(() => this.#end(address), seconds * 1000).unref();
  }

  #end(address: string): void {
    const refused = this.#blocks.get(address)?.refused;
    this.#blocks.delete(address);
    if (refused) {
      this.#deps.logger.warn('requests of an address over its limit refused', {
        address,
        bucket: this.#bucket,
        refused,
      });
    }
  }
}

export function tooMany(waitMs: number): ApiError {
  const resetInSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new ApiError('rate_limited', { resetInSeconds, headers: { 'Retry-After': String(resetInSeconds) } });
}
