import { type Doorbell, decodeDoorbell, encodeDoorbell } from '@gateway/contracts/doorbell';
import { doorbellChannel, type KeySpace, shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { publishBeside } from '@gateway/runtime/redis/redis-nodes';
import type { Redis } from 'ioredis';
import type { Store } from './store.js';

/** Tells every process to look again. Never fails the caller: a lost doorbell costs half a minute. */
export async function ringDoorbell({ redis, space }: Store, doorbell: Doorbell): Promise<void> {
  const key = shardKeys(space, shardOf(doorbell)).devices;
  await publishBeside(redis, key, [doorbellChannel(space), encodeDoorbell(doorbell)]).catch(() => {});
}

/** The one subscriber of a process, shared by all who listen. */
export class DoorbellListener {
  private readonly handlers = new Set<(doorbell: Doorbell) => void>();
  private readonly gapHandlers = new Set<() => void>();

  private constructor(
    private readonly subscriber: Redis,
    private readonly channel: string,
  ) {}

  /** @param subscriber a connection of its own: a subscribed one takes no other commands. */
  static async listen(subscriber: Redis, space: KeySpace): Promise<DoorbellListener> {
    const listener = new DoorbellListener(subscriber, doorbellChannel(space));
    subscriber.on('message', listener.onMessage);
    await subscriber.subscribe(listener.channel);
    subscriber.on('ready', listener.onReady);
    return listener;
  }

  /** Handlers must not throw. Returns a function that removes the handler. */
  on(handler: (doorbell: Doorbell) => void): () => void {
    this.handlers.add(handler);
    return () => this.handlers.delete(handler);
  }

  /** The connection was lost, and is back: doorbells may have been missed. Handlers must not throw. */
  onGap(handler: () => void): () => void {
    this.gapHandlers.add(handler);
    return () => this.gapHandlers.delete(handler);
  }

  close(): void {
    this.subscriber.off('message', this.onMessage);
    this.subscriber.off('ready', this.onReady);
    this.handlers.clear();
    this.gapHandlers.clear();
  }

  private readonly onReady = (): void => {
    for (const handler of this.gapHandlers) handler();
  };

  private readonly onMessage = (channel: string, text: string): void => {
    const doorbell = channel === this.channel ? decodeDoorbell(text) : undefined;
    if (doorbell) for (const handler of this.handlers) handler(doorbell);
  };
}
