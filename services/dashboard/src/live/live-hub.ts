import type { Logger } from '@gateway/runtime/logs/logger';
import type { DoorbellListener } from '@gateway/store/core/doorbells';
import { Feed, type Follower } from './feed.js';
import type { Topic } from './topic.js';
import { makeTopic, type TopicDeps } from './topics.js';

interface HubDeps extends TopicDeps {
  logger: Logger;
  doorbells: Pick<DoorbellListener, 'on' | 'onGap'>;
}

/** One per process: what tabs follow, read once for all of them. */
export class LiveHub {
  readonly #feeds = new Map<string, Feed>();
  readonly #ends = new Set<() => void>();
  #isClosed = false;
  readonly #stopListening: (() => void)[];

  constructor(private readonly deps: HubDeps) {
    this.#stopListening = [
      deps.doorbells.on((doorbell) => {
        for (const feed of this.#feeds.values()) feed.ring(doorbell);
      }),
      deps.doorbells.onGap(() => {
        for (const feed of this.#feeds.values()) feed.lookAgain();
      }),
    ];
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get streams(): number {
    return this.#ends.size;
  }

  /** `undefined` for a name that is none. */
  topicOf(name: string): Topic | undefined {
    return makeTopic(name, this.deps);
  }

  /** Follows these topics until it is called off. @param end called when the process stops. */
  follow(names: readonly string[], follower: Follower, end: () => void): () => void {
    for (const name of names) this.#feedOf(name).add(follower);
    this.#ends.add(end);
    return () => {
      this.#ends.delete(end);
      for (const name of names) {
        const feed = this.#feeds.get(name);
        feed?.remove(follower);
        if (feed && !feed.isFollowed) this.#feeds.delete(name);
      }
    };
  }

  /** None is opened from now on. */
  close(): void {
    this.#isClosed = true;
    for (const stop of this.#stopListening) stop();
    for (const end of [...this.#ends]) end();
  }

  #feedOf(name: string): Feed {
    const known = this.#feeds.get(name);
    if (known) return known;
    const feed = new Feed(name, this.topicOf(name)!, (error) => {
      this.deps.logger.warn('live topic cannot be read', { topic: name, error });
    });
    this.#feeds.set(name, feed);
    return feed;
  }
}
