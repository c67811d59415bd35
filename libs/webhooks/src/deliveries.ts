import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { listEventWorkspaces } from '@gateway/store/events/open-events';
import { deliver } from './deliver.js';
import { logFeed } from './log-feed.js';
import type { DeliverDeps } from './work.js';

export interface DeliveriesDeps extends Omit<DeliverDeps, 'feed' | 'signal'> {
  logger: Logger;
  /** How often all endpoints are looked at. Default 1 s. */
  tickMs?: number;
}

const TICK_MS = 1_000;
/** At a time: each has one request in flight per lane, so a process has 200 sockets at most. */
const MAX_ENDPOINTS = 100;

/**
 * Delivers to all endpoints of the installation that no other process delivers to, each by itself: a slow one delays no other. Runs
 * until `close`, which ends requests that are under way: another process makes them again, under the same ids.
 */
export class Deliveries {
  readonly #deps: DeliveriesDeps;
  readonly #stopping = new AbortController();
  readonly #running = new Map<string, Promise<void>>();
  /** When each endpoint had its last turn. */
  readonly #turns = new Map<string, number>();
  #lastTurn = 0;
  readonly #timer: NodeJS.Timeout;
  #ticking: Promise<void> = Promise.resolve();
  /** A look around is about to begin. */
  #isWoken = false;

  constructor(deps: DeliveriesDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.wake(), deps.tickMs ?? TICK_MS);
    this.wake();
  }

  /** Something has happened: as well at once as with the next tick. */
  wake(): void {
    if (this.#stopping.signal.aborted || this.#isWoken) return;
    this.#isWoken = true;
    this.#ticking = this.#ticking
      .then(() => {
        this.#isWoken = false;
        return this.#tick();
      })
      .catch((thrown: unknown) => this.#deps.logger.warn('webhooks were not looked at', { error: toError(thrown) }));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#ticking;
    await Promise.all(this.#running.values());
  }

  async #tick(): Promise<void> {
    const { store } = this.#deps;
    const all: { workspace: Workspace; id: WebhookId; name: string }[] = [];
    for (const workspace of await listEventWorkspaces(store)) {
      const ids = await store.redis.smembers(workspaceKeys(store.space, workspace).webhooks);
      all.push(...ids.map((id) => ({ workspace, id, name: `${workspace}/${id}` })));
    }
    // Those first that have waited longest: slow ones leave places to others.
    const turnOf = ({ name }: { name: string }) => this.#turns.get(name) ?? 0;
    for (const { workspace, id } of all.sort((a, b) => turnOf(a) - turnOf(b))) this.#begin(workspace, id);
    const names = new Set(all.map(({ name }) => name));
    for (const name of this.#turns.keys()) if (!names.has(name)) this.#turns.delete(name);
  }

  #begin(workspace: Workspace, id: WebhookId): void {
    const name = `${workspace}/${id}`;
    if (this.#running.has(name) || this.#running.size >= MAX_ENDPOINTS || this.#stopping.signal.aborted) return;
    this.#turns.set(name, ++this.#lastTurn);
    let isMore = false;
    const work = this.#run(workspace, id)
      .then((more) => {
        isMore = more;
      })
      .catch((thrown: unknown) => {
        this.#deps.logger.warn('a webhook was not served', { webhookId: id, error: toError(thrown) });
      })
      .finally(() => {
        const wasFull = this.#running.size >= MAX_ENDPOINTS;
        this.#running.delete(name);
        if (isMore || wasFull) this.wake();
      });
    this.#running.set(name, work);
  }

  /** One request in each lane; answers whether there is more to do at once. */
  async #run(workspace: Workspace, id: WebhookId): Promise<boolean> {
    const { store, clock, counts } = this.#deps;
    const feed = logFeed(store, workspace, { clock, onGap: () => counts.countGap('log_gone') });
    const deps = { ...this.#deps, feed, signal: this.#stopping.signal };
    return (await deliver(deps, workspace, id)) === 'more';
  }
}
