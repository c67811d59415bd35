import type { Clock } from '@gateway/runtime/clock';
import { ApiError } from '@gateway/runtime/errors';
import type { Capacity } from '@gateway/store/core/capacity';

/**
 * Requests are refused beyond these shares of `maxmemory`. The rest is for accepted work, and between the
 * two for small, urgent data: one-time passwords, opt-outs, a new link.
 */
const SHARES = { lists: 0.85, urgent: 0.95 } as const;
const FILE_SHARE = 0.1;
/** Of the sends of one token at a device, those that have ended included. */
const SENDS_SHARE = 0.2;

/**
 * The keys of a first message to a person (session, identity, pair of names, token), in Redis. Which recipients are known
 * already is not checked: it would take a lookup in the network.
 */
const STRANGER_BYTES = 1_400;
const FRESH_MS = 2_000;

/**
 * Whether Redis has room for more, now and when all accepted messages are sent. Asks Redis every two seconds at most,
 * for any number of callers; what this process accepts in between is counted at once.
 */
export class RedisHeadroom {
  readonly #read: () => Promise<Capacity>;
  readonly #clock: Clock;
  #asked: Promise<Capacity> | undefined;
  #askedAtMs = 0;
  #known: Capacity | undefined;
  /** Messages that this process took since it asked, and in the term before: those may not have been in Redis by then. */
  #taken = 0;
  #takenBefore = 0;

  constructor(read: () => Promise<Capacity>, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  /** Bytes by the last answer of Redis, including the future need of accepted recipients. */
  get known(): (Capacity & { promisedBytes: number }) | undefined {
    return this.#known && { ...this.#known, promisedBytes: this.#known.queuedMessages * STRANGER_BYTES };
  }

  /** Whether there is room for that many messages. Rejects when Redis does not answer. */
  async hasRoom(use: keyof typeof SHARES = 'lists', messages = 0): Promise<boolean> {
    return this.#fits(await this.#capacity(), use, messages);
  }

  /** The same, or 503. */
  async refuseWithoutRoom(use: keyof typeof SHARES, messages = 0): Promise<void> {
    if (await this.hasRoom(use, messages)) return;
    throw noRoom();
  }

  /** The same for messages that are written down right after it: they count from now on. */
  async take(use: keyof typeof SHARES, messages: number): Promise<void> {
    const capacity = await this.#capacity();
    // Looked at and counted in one turn: of requests that come together, each sees those before it.
    if (!this.#fits(capacity, use, messages)) throw noRoom();
    this.#taken += messages;
  }

  /** Bytes that the files of a workspace may take together. @param withoutLimit where Redis has no `maxmemory`. */
  async fileQuotaBytes(withoutLimit: number): Promise<number> {
    const { limitBytes } = await this.#capacity();
    return limitBytes === 0 ? withoutLimit : Math.floor(limitBytes * FILE_SHARE);
  }

  /** Bytes that the sends of one token may take at a device; 0 where Redis has no `maxmemory`, and it does not matter. */
  async sendQuotaBytes(): Promise<number> {
    return Math.floor((await this.#capacity()).limitBytes * SENDS_SHARE);
  }

  #fits({ usedBytes, limitBytes, queuedMessages }: Capacity, use: keyof typeof SHARES, messages: number): boolean {
    if (limitBytes === 0) return true;
    const promised = queuedMessages + this.#takenBefore + this.#taken + messages;
    return usedBytes + promised * STRANGER_BYTES < limitBytes * SHARES[use];
  }

  #capacity(): Promise<Capacity> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#asked && nowMs - this.#askedAtMs < FRESH_MS) return this.#asked;
    this.#askedAtMs = nowMs;
    this.#takenBefore = this.#taken;
    this.#taken = 0;
    const asked = this.#read();
    this.#asked = asked;
    asked.then(
      (known) => {
        this.#known = known;
      },
      // Failures are not cached: the next caller asks again.
      () => {
        if (this.#asked === asked) this.#asked = undefined;
      },
    );
    return asked;
  }
}

/** 503: room does not come back in seconds. */
export function noRoom(cause?: Error): ApiError {
  return new ApiError('unavailable', { headers: { 'Retry-After': '30' }, ...(cause && { cause }) });
}
