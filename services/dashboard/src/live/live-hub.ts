import type { Logger } from '@gateway/runtime/logs/logger';
import type { DoorbellListener } from '@gateway/store/core/doorbells';
import { ConsoleError } from '../http/console-error.js';
import { Feed, type Follower } from './feed.js';
import type { Topic } from './topic.js';
import { makeTopic, type TopicDeps } from './topics.js';

interface HubDeps extends TopicDeps {
  logger: Logger;
  doorbells: Pick<DoorbellListener, 'on' | 'onGap'>;
}

const MAX_STREAMS = 500;
/** Each is read every second or two. */
const MAX_FEEDS = 200;
/** Of one browser: so many tabs with three topics each. */
const MAX_OF_SESSION = { streams: 20, topics: 60 };
/** However many browsers they have signed in: the others follow something, too. */
const MAX_OF_USER = { streams: 60, topics: 120 };
const COME_AGAIN = { resetInSeconds: 15 };

/** Who follows which topics. */
interface Place {
  sessionId: string;
  user: string;
  names: readonly string[];
  end: () => void;
}

/** One per process: what tabs follow, read once for all of them. */
export class LiveHub {
  readonly #feeds = new Map<string, Feed>();
  readonly #places = new Set<Place>();
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
    return this.#places.size;
  }

  /** `undefined` for a name that is none. */
  topicOf(name: string): Topic | undefined {
    return makeTopic(name, this.deps);
  }

  /** Throws `rate_limited` for a session, or a user, that follows enough, and `unavailable` when all together do. */
  requirePlace({ sessionId, user, names }: Omit<Place, 'end'>): void {
    const ofUser = [...this.#places].filter((place) => place.user === user);
    const ofSession = ofUser.filter((place) => place.sessionId === sessionId);
    if (!hasRoom(ofSession, names, MAX_OF_SESSION) || !hasRoom(ofUser, names, MAX_OF_USER)) {
      throw new ConsoleError('rate_limited', COME_AGAIN);
    }
    const feeds = this.#feeds.size + names.filter((name) => !this.#feeds.has(name)).length;
    if (this.streams >= MAX_STREAMS || feeds > MAX_FEEDS) throw new ConsoleError('unavailable', COME_AGAIN);
  }

  /** Follows these topics until it is called off. `end` is called when the process stops. */
  follow(place: Place, follower: Follower): () => void {
    const { names } = place;
    for (const name of names) this.#feedOf(name).add(follower);
    this.#places.add(place);
    return () => {
      this.#places.delete(place);
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
    for (const { end } of [...this.#places]) end();
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

function hasRoom(
  places: readonly Place[],
  names: readonly string[],
  max: { streams: number; topics: number },
): boolean {
  const topics = places.reduce((sum, place) => sum + place.names.length, names.length);
  return places.length < max.streams && topics <= max.topics;
}
