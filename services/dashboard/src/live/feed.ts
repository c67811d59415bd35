import type { UserRole } from '@gateway/contracts/console/users';
import type { Doorbell } from '@gateway/contracts/doorbell';
import { toError } from '@gateway/runtime/errors';
import { type Told, ToldList, ToldWhole, toFrame } from './told.js';
import type { Topic } from './topic.js';

/** One tab that follows a topic. */
export interface Follower {
  role: UserRole;
  /** @param frame one event: of the topic, or `trouble` when it cannot be read for now; what was told before still stands. */
  tell(frame: Buffer): void;
}

/** Four frames a second at most, however many doorbells ring. */
const LEAST_MS = 250;
const TROUBLE = toFrame('trouble', '{}');
/** How soon it is looked at again when it could not be read. */
const TROUBLED_MS = 1_000;

/**
 * One topic of one process: read once for all tabs that follow it, and told when it has changed. Without a follower it is
 * not read at all.
 */
export class Feed {
  readonly #followers = new Set<Follower>();
  readonly #told = new Map<UserRole, Told>();
  #bells: Doorbell[] | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dueAtMs = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #isLooking = false;
  #isTroubled = false;

  constructor(
    private readonly name: string,
    private readonly topic: Topic,
    /** Told once for each time that it cannot be read, until it can. */
    private readonly onTrouble: (error: Error) => void = () => {},
  ) {}

  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  /** Tells it what is known, and begins to look if it is the first. */
  add(follower: Follower): void {
    this.#followers.add(follower);
    const told = this.#told.get(follower.role);
    if (told && this.#followers.size > 1) follower.tell(told.whole());
    else this.lookAgain();
  }

  remove(follower: Follower): void {
    this.#followers.delete(follower);
    if (this.isFollowed) return;
    clearTimeout(this.#timer);
    this.#told.clear();
  }

  ring(doorbell: Doorbell): void {
    if (!this.isFollowed || !this.topic.isRungBy(doorbell)) return;
    this.#bells?.push(doorbell);
    this.#lookBy(this.#lookedAtMs + LEAST_MS);
  }

  /** At everything: a doorbell may have been missed. */
  lookAgain(): void {
    this.#bells = undefined;
    this.#lookBy(this.#lookedAtMs + LEAST_MS);
  }

  #lookBy(atMs: number): void {
    if (this.#isLooking) {
      this.#dueAtMs = Math.min(this.#dueAtMs, atMs);
      return;
    }
    if (this.#timer && this.#dueAtMs <= atMs) return;
    clearTimeout(this.#timer);
    this.#dueAtMs = atMs;
    this.#timer = setTimeout(() => void this.#look(), Math.max(0, atMs - performance.now()));
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    this.#isLooking = true;
    this.#lookedAtMs = performance.now();
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    const bells = this.#bells;
    this.#bells = [];
    try {
      const whole = await this.topic.read(bells);
      this.#dueAtMs = Math.min(this.#dueAtMs, this.#lookedAtMs + this.topic.everyMs);
      this.#tellAll(whole);
    } catch (thrown) {
      if (!this.#isTroubled) this.onTrouble(toError(thrown));
      this.#bells = undefined;
      this.#dueAtMs = this.#lookedAtMs + TROUBLED_MS;
      this.#tellTrouble();
    }
    this.#isLooking = false;
    if (this.isFollowed) this.#lookBy(this.#dueAtMs);
  }

  #tellAll(whole: unknown): void {
    const news = new Map<UserRole, Buffer | undefined>();
    for (const follower of this.#followers) {
      const { role } = follower;
      if (!news.has(role)) news.set(role, this.#newsFor(role, whole));
      const frame = news.get(role);
      if (frame) follower.tell(frame);
    }
    this.#isTroubled = false;
  }

  #newsFor(role: UserRole, whole: unknown): Buffer | undefined {
    const told = this.#told.get(role) ?? (this.topic.isList ? new ToldList(this.name) : new ToldWhole(this.name));
    this.#told.set(role, told);
    const news = told.update(this.topic.show ? this.topic.show(role, whole) : whole);
    // After trouble each is told that it is over, by what there is.
    return this.#isTroubled ? told.whole() : news;
  }

  #tellTrouble(): void {
    if (!this.#isTroubled) for (const follower of this.#followers) follower.tell(TROUBLE);
    this.#isTroubled = true;
  }
}
