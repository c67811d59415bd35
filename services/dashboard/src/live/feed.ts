import type { UserRole } from '@gateway/contracts/console/users';
import type { Doorbell } from '@gateway/contracts/doorbell';
import { toError } from '@gateway/runtime/errors';
import type { Topic } from './topic.js';

/** One tab that follows a topic. */
export interface Follower {
  role: UserRole;
  /** @param event `trouble` when it cannot be read for now; what was told before still stands. */
  tell(event: string, data: string): void;
}

/** Four frames a second at most, however many doorbells ring. */
const LEAST_MS = 250;
/** How soon it is looked at again when it could not be read. */
const TROUBLED_MS = 1_000;

/**
 * One topic of one process: read once for all tabs that follow it, and told when it has changed. Without a follower it is
 * not read at all.
 */
export class Feed {
  readonly #followers = new Set<Follower>();
  readonly #texts = new Map<UserRole, string>();
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
    const known = this.#texts.get(follower.role);
    if (known !== undefined && this.#followers.size > 1) follower.tell(this.name, known);
    else this.lookAgain();
  }

  remove(follower: Follower): void {
    this.#followers.delete(follower);
    if (this.isFollowed) return;
    clearTimeout(this.#timer);
    this.#texts.clear();
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
    this.#dueAtMs = this.#lookedAtMs + this.topic.everyMs;
    const bells = this.#bells;
    this.#bells = [];
    try {
      const whole = await this.topic.read(bells);
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
    const isNews = new Map<UserRole, boolean>();
    for (const follower of this.#followers) {
      const { role } = follower;
      if (!isNews.has(role)) {
        const text = JSON.stringify(this.topic.show ? this.topic.show(role, whole) : whole);
        // After trouble each is told that it is over, by what there is.
        isNews.set(role, this.#isTroubled || this.#texts.get(role) !== text);
        this.#texts.set(role, text);
      }
      if (isNews.get(role)) follower.tell(this.name, this.#texts.get(role)!);
    }
    this.#isTroubled = false;
  }

  #tellTrouble(): void {
    if (!this.#isTroubled) for (const follower of this.#followers) follower.tell('trouble', '{}');
    this.#isTroubled = true;
  }
}
