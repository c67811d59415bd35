import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/store';

/** Beyond this share of `maxmemory` new sends are refused: what is left is for keys and results of those accepted. */
const FULL_SHARE = 0.85;
const FRESH_MS = 2_000;

/** Tells whether Redis has room for more sends. Asks it every two seconds at most, whatever the number of callers. */
export class RedisHeadroom {
  readonly #redis: Pick<Store['redis'], 'info'>;
  readonly #clock: Clock;
  #asked: Promise<boolean> | undefined;
  #askedAtMs = 0;

  constructor(redis: Pick<Store['redis'], 'info'>, clock: Clock) {
    this.#redis = redis;
    this.#clock = clock;
  }

  /** Rejects when Redis does not answer. */
  hasRoom(): Promise<boolean> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#asked && nowMs - this.#askedAtMs < FRESH_MS) return this.#asked;
    this.#askedAtMs = nowMs;
    const asked = this.#ask();
    this.#asked = asked;
    // A failure is not remembered: the next caller asks anew.
    asked.catch(() => {
      if (this.#asked === asked) this.#asked = undefined;
    });
    return asked;
  }

  async #ask(): Promise<boolean> {
    const info = await this.#redis.info('memory');
    const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
    const limitBytes = read('maxmemory');
    return limitBytes === 0 || read('used_memory') < limitBytes * FULL_SHARE;
  }
}
