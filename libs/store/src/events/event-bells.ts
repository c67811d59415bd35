import type { EventClass } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { eventLogChannel, type KeySpace, workspaceKeys } from '@gateway/contracts/redis-keys';
import { publishBeside } from '@gateway/runtime/redis/redis-nodes';
import type { Redis } from 'ioredis';
import type { Store } from '../core/store.js';

/** Something of a webhook has changed. The change is made already: a bell that is lost costs the time until the next look. */
export async function ringEventBell(
  { redis, space }: Pick<Store, 'redis' | 'space'>,
  workspace: Workspace,
): Promise<void> {
  const { eventLog } = workspaceKeys(space, workspace);
  await publishBeside(redis, eventLog, [eventLogChannel(space), workspace]).catch(() => {});
}

/**
 * Tells those who wait for events of a workspace that its log has grown. One for a process. A bell says the workspace, and behind it
 * `/lists` when all that is new may be gathered.
 */
export class EventBells {
  readonly #waiting = new Map<Workspace, Set<() => void>>();
  readonly #listeners = new Set<(workspace: Workspace, news: EventClass) => void>();
  readonly #channel: string;

  private constructor(
    private readonly subscriber: Redis,
    space: KeySpace,
  ) {
    this.#channel = eventLogChannel(space);
  }

  /** @param subscriber a connection of its own: a subscribed one takes no other commands. */
  static async listen(subscriber: Redis, space: KeySpace): Promise<EventBells> {
    const bells = new EventBells(subscriber, space);
    subscriber.on('message', bells.#hear);
    await subscriber.subscribe(bells.#channel);
    return bells;
  }

  /** Calls until the returned function is called. */
  on(workspace: Workspace, listener: () => void): () => void {
    const listeners = this.#waiting.get(workspace) ?? new Set();
    this.#waiting.set(workspace, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#waiting.get(workspace) === listeners) this.#waiting.delete(workspace);
    };
  }

  /** The same for every workspace. */
  onAny(listener: (workspace: Workspace, news: EventClass) => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    this.subscriber.off('message', this.#hear);
  }

  readonly #hear = (channel: string, text: string): void => {
    if (channel !== this.#channel) return;
    const [workspace, news] = text.split('/') as [Workspace, string?];
    for (const listener of [...(this.#waiting.get(workspace) ?? [])]) listener();
    for (const listener of this.#listeners) listener(workspace, news === 'lists' ? 'lists' : 'prompt');
  };
}
