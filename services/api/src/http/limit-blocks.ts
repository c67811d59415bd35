import { ApiError } from '@gateway/runtime/errors';
import type { ApiDeps } from '../api-deps.js';

/** About 2 MB. Beyond it all are counted where others are. */
const MAX_BLOCKED = 10_000;

interface Block {
  untilMs: number;
  refused: number;
}

/**
 * Addresses, or tokens, that have used up a limit, until it starts again: this process refuses them by itself, without a
 * question to Redis and without a line in the log for each request. What they asked meanwhile is one line, at the end.
 */
export class LimitBlocks {
  readonly #deps: Pick<ApiDeps, 'clock' | 'logger' | 'metrics'>;
  readonly #of: 'address' | 'tokenId';
  readonly #bucket: string;
  readonly #blocks = new Map<string, Block>();

  /**
   * @param of what is blocked.
   * @param bucket names the limit, in logs and metrics.
   */
  constructor(deps: Pick<ApiDeps, 'clock' | 'logger' | 'metrics'>, of: 'address' | 'tokenId', bucket: string) {
    this.#deps = deps;
    this.#of = of;
    this.#bucket = bucket;
  }

  has(caller: string): boolean {
    return this.#blocks.has(caller);
  }

  /** If a caller is blocked, for how long yet, in ms. Counts a request of it. */
  refuse(caller: string): number | undefined {
    const block = this.#blocks.get(caller);
    if (!block) return undefined;
    block.refused++;
    this.#deps.metrics.countRateLimited(this.#bucket);
    return block.untilMs - this.#deps.clock.monotonicMs();
  }

  begin(caller: string, forMs: number): void {
    if (this.#blocks.size >= MAX_BLOCKED || this.#blocks.has(caller)) return;
    this.#blocks.set(caller, { untilMs: this.#deps.clock.monotonicMs() + forMs, refused: 0 });
    setTimeout(() => this.#end(caller), forMs).unref();
  }

  #end(caller: string): void {
    const refused = this.#blocks.get(caller)?.refused;
    this.#blocks.delete(caller);
    if (!refused) return;
    const fields = { [this.#of]: caller, bucket: this.#bucket, refused };
    this.#deps.logger.warn('requests over a limit refused', fields);
  }
}

export function tooMany(waitMs: number): ApiError {
  const resetInSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new ApiError('rate_limited', { resetInSeconds, headers: { 'Retry-After': String(resetInSeconds) } });
}
