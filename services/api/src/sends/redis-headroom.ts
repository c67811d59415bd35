import type { Workspace } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import type { Clock } from '@gateway/runtime/clock';
import { ApiError } from '@gateway/runtime/errors';
import type { Capacity } from '@gateway/store/core/capacity';
import { Shares } from '../http/shares.js';

/**
 * Requests are refused beyond these shares of `maxmemory`: of what is used, and of that together with what accepted
 * recipients will need. The rest is for accepted work, and between the two for small, urgent data: one-time passwords,
 * opt-outs, a new link. Small sends are not refused for the sake of lists that wait.
 */
const MARKS = {
  list: { used: 0.85, promised: 0.85 },
  small: { used: 0.85, promised: 0.95 },
  urgent: { used: 0.95, promised: 0.95 },
} as const;
export type RoomUse = keyof typeof MARKS;

const FILE_SHARE = 0.1;
/** Of the sends of one token at a device, those that have ended included. */
const SENDS_SHARE = 0.2;
/** Of the messages that might wait without its own, for the lists of one workspace; `acceptSend` has the shares of tokens and devices. */
const WORKSPACE_SHARE = 0.5;

/**
 * The keys of a first message to a person (session, identity, pair of names, token), in Redis. Which recipients are known
 * already is not checked: it would take a lookup in the network.
 */
const STRANGER_BYTES = 1_400;
const FRESH_MS = 2_000;

/** Messages that this process took, until Redis is known to count them. */
interface Taken {
  workspace: Workspace;
  messages: number;
  isWritten: boolean;
}

/** What a send is, as far as its room goes. One-time passwords are `urgent`. */
export function roomUseOf(recipients: number): RoomUse {
  return recipients <= LIMITS.smallSendRecipients ? 'small' : 'list';
}

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
  readonly #taken = new Set<Taken>();
  /** Messages of these, by workspace. */
  readonly #unseen = new Shares();

  constructor(read: () => Promise<Capacity>, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  /** Bytes by the last answer of Redis, including the future need of accepted recipients. */
  get known(): (Capacity & { promisedBytes: number }) | undefined {
    return this.#known && { ...this.#known, promisedBytes: sum(this.#known.queuedMessages.values()) * STRANGER_BYTES };
  }

  /** Whether there is room for that many messages. Rejects when Redis does not answer. */
  async hasRoom(use: RoomUse, messages = 0): Promise<boolean> {
    return this.#fits(await this.#capacity(), use, messages);
  }

  /** The same, or 503. */
  async refuseWithoutRoom(use: RoomUse, messages = 0): Promise<void> {
    if (!(await this.hasRoom(use, messages))) throw noRoom();
  }

  /**
   * The same for messages that `write` writes down: they count from now on, unless it throws an `ApiError`. 503 also for a
   * list when messages of its workspace have their share.
   * @param write is told how many more messages have room; 0 where Redis has no `maxmemory`.
   */
  async take<T>(
    { use, messages, workspace }: { use: RoomUse; messages: number; workspace: Workspace },
    write: (freeMessages: number) => Promise<T>,
  ): Promise<T> {
    const capacity = await this.#capacity();
    // Looked at and counted in one turn: of requests that come together, each sees those before it.
    if (!this.#fits(capacity, use, messages)) throw noRoom();
    const free = this.#freeMessages(capacity, use);
    const ofWorkspace = this.#promised(capacity, workspace);
    const isShared = capacity.limitBytes > 0 && use === 'list';
    if (isShared && ofWorkspace + messages > (free + ofWorkspace) * WORKSPACE_SHARE) throw noRoom();
    const taken: Taken = { workspace, messages, isWritten: false };
    this.#taken.add(taken);
    this.#unseen.add(workspace, messages);
    try {
      return await write(capacity.limitBytes === 0 ? 0 : Math.ceil(free));
    } catch (thrown) {
      if (thrown instanceof ApiError) this.#forget(taken);
      throw thrown;
    } finally {
      taken.isWritten = true;
    }
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

  #fits(capacity: Capacity, use: RoomUse, messages: number): boolean {
    const { usedBytes, limitBytes } = capacity;
    if (limitBytes === 0) return true;
    return usedBytes < limitBytes * MARKS[use].used && messages < this.#freeMessages(capacity, use);
  }

  #freeMessages(capacity: Capacity, use: RoomUse): number {
    const roomBytes = capacity.limitBytes * MARKS[use].promised - capacity.usedBytes;
    return roomBytes / STRANGER_BYTES - this.#promised(capacity);
  }

  /** Messages that wait, of one workspace or of all. */
  #promised({ queuedMessages }: Capacity, workspace?: Workspace): number {
    return workspace === undefined
      ? sum(queuedMessages.values()) + this.#unseen.all
      : (queuedMessages.get(workspace) ?? 0) + this.#unseen.of(workspace);
  }

  #forget(taken: Taken): void {
    if (this.#taken.delete(taken)) this.#unseen.add(taken.workspace, -taken.messages);
  }

  #capacity(): Promise<Capacity> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#asked && nowMs - this.#askedAtMs < FRESH_MS) return this.#asked;
    this.#askedAtMs = nowMs;
    const written = [...this.#taken].filter(({ isWritten }) => isWritten);
    const asked = this.#read();
    this.#asked = asked;
    asked.then(
      (known) => {
        this.#known = known;
        // Redis counts what was written before it was asked; what was on its way may count twice until it is asked again.
        for (const each of written) this.#forget(each);
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

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const each of numbers) total += each;
  return total;
}
