import { type Doorbell, decodeDoorbell, encodeDoorbell } from '@gateway/contracts/doorbell';
import { doorbellChannel, type KeySpace } from '@gateway/contracts/redis-keys';
import type { Redis } from 'ioredis';
import type { Store } from './store.js';

/** Tells every process to look again. Never fails the caller: a lost doorbell costs ten seconds. */
export async function ringDoorbell(store: Store, doorbell: Doorbell): Promise<void> {
  await store.redis.publish(doorbellChannel(store.space), encodeDoorbell(doorbell)).catch(() => undefined);
}

/** The one subscriber of a process, shared by all who listen. */
export class DoorbellListener {
  private readonly handlers = new Set<(doorbell: Doorbell) => void>();

  private constructor(
    private readonly subscriber: Redis,
    private readonly channel: string,
  ) {}

  /** @param subscriber a connection of its own: a subscribed one takes no other commands. */
  static async listen(subscriber: Redis, space: KeySpace): Promise<DoorbellListener> {
    const listener = new DoorbellListener(subscriber, doorbellChannel(space));
    subscriber.on('message', listener.onMessage);
    await subscriber.subscribe(listener.channel);
    return listener;
  }

  /** Handlers must not throw. Returns what takes the handler off again. */
  on(handler: (doorbell: Doorbell) => void): () => void {
    this.handlers.add(handler);
    return () => this.handlers.delete(handler);
  }

  close(): void {
    this.subscriber.off('message', this.onMessage);
    this.handlers.clear();
  }

  private readonly onMessage = (channel: string, text: string): void => {
    const doorbell = channel === this.channel ? decodeDoorbell(text) : undefined;
    if (doorbell) for (const handler of this.handlers) handler(doorbell);
  };
}
