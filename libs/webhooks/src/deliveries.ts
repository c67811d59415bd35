import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { sleep } from '@gateway/runtime/clock';
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
const REST_MS = 100;
/** At a time: each has one request in flight per lane, so a process has 200 sockets at most. */
const MAX_ENDPOINTS = 100;

/**
 * Delivers to all endpoints of the installation that no other process delivers to, each by itself: a slow one delays no other. Runs
 * until `close`, which ends requests that are under way: another process makes them again, under the same ids.
 */
export class Deliveries {
  readonly #deps: DeliveriesDeps;
  readonly #stopping = new AbortController();
  /** `again`: something has happened since it was looked at. */
  readonly #running = new Map<string, { again: boolean; work: Promise<void> }>();
  /** When each endpoint had its last turn. */
  readonly #turns = new Map<string, number>();
  #lastTurn = 0;
  readonly #timer: NodeJS.Timeout;
  #ticking: Promise<void> = Promise.resolve();
  /** A look around is about to begin. */
  #isWoken = false;
  #woken: Set<Workspace> | 'all' = new Set();

  constructor(deps: DeliveriesDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.wake(), deps.tickMs ?? TICK_MS);
    this.wake();
  }

  /** Something has happened, in one workspace or anywhere: as well at once as with the next tick. */
  wake(workspace?: Workspace): void {
    if (this.#stopping.signal.aborted) return;
    if (workspace === undefined) this.#woken = 'all';
    else if (this.#woken !== 'all') this.#woken.add(workspace);
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#ticking = this.#ticking
      .then(() => {
        this.#isWoken = false;
        const woken = this.#woken;
        this.#woken = new Set();
        return this.#lookAt(woken);
      })
      .catch((thrown: unknown) => this.#deps.logger.warn('webhooks were not looked at', { error: toError(thrown) }));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#ticking;
    await Promise.all([...this.#running.values()].map(({ work }) => work));
  }

  async #lookAt(woken: ReadonlySet<Workspace> | 'all'): Promise<void> {
    const { store } = this.#deps;
    const all: { workspace: Workspace; id: WebhookId; name: string }[] = [];
    for (const workspace of woken === 'all' ? await listEventWorkspaces(store) : woken) {
      const ids = await store.redis.smembers(workspaceKeys(store.space, workspace).webhooks);
      all.push(...ids.map((id) => ({ workspace, id, name: `${workspace}/${id}` })));
    }
    // Those first that have waited longest: slow ones leave places to others.
    const turnOf = ({ name }: { name: string }) => this.#turns.get(name) ?? 0;
    for (const { workspace, id } of all.sort((a, b) => turnOf(a) - turnOf(b))) this.#begin(workspace, id);
    if (woken !== 'all') return;
    const names = new Set(all.map(({ name }) => name));
    for (const name of this.#turns.keys()) if (!names.has(name)) this.#turns.delete(name);
  }

  #begin(workspace: Workspace, id: WebhookId): void {
    const name = `${workspace}/${id}`;
    const running = this.#running.get(name);
    if (running) running.again = true;
    if (running || this.#running.size >= MAX_ENDPOINTS || this.#stopping.signal.aborted) return;
    this.#turns.set(name, ++this.#lastTurn);
    const self = { again: false, work: Promise.resolve() };
    self.work = this.#run(workspace, id, self)
      .catch((thrown: unknown) => {
        this.#deps.logger.warn('a webhook was not served', { webhookId: id, error: toError(thrown) });
      })
      .finally(() => {
        const wasFull = this.#running.size >= MAX_ENDPOINTS;
        this.#running.delete(name);
        if (wasFull) this.wake();
        else if (self.again) this.wake(workspace);
      });
    this.#running.set(name, self);
  }

  /** As long as there is something to tell, or something happens meanwhile, if no other endpoint waits for the place. */
  async #run(workspace: Workspace, id: WebhookId, self: { again: boolean }): Promise<void> {
    const { store, clock, counts } = this.#deps;
    const { signal } = this.#stopping;
    const feed = logFeed(store, workspace, { clock, onGap: () => counts.countGap('log_gone') });
    do {
      self.again = false;
      const outcome = await deliver({ ...this.#deps, feed, signal }, workspace, id);
      if (outcome === 'more') self.again = true;
      // What comes close together goes together.
      else if (!signal.aborted) await sleep(REST_MS);
    } while (self.again && !signal.aborted && this.#running.size < MAX_ENDPOINTS);
  }
}
