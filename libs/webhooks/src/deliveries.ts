import { setMaxListeners } from 'node:events';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { listEventWorkspaces } from '@gateway/store/events/open-events';
import { endSessions, renewSession } from '@gateway/store/webhooks/delivering/owners';
import { deliver } from './deliver.js';
import { logFeed } from './log-feed.js';
import { PostedRanges } from './posted-ranges.js';
import type { DeliverDeps } from './work.js';

export interface DeliveriesDeps extends Omit<DeliverDeps, 'feed' | 'signal' | 'posted'> {
  logger: Logger;
  /** How often all endpoints are looked at. Default 1 s. */
  tickMs?: number;
}

const TICK_MS = 1_000;
const REST_MS = 100;
/** At a time, of those that answer soon and of the others: each has one request in flight per lane. */
const PLACES = { quick: 100, slow: 100 } as const;
/** An endpoint that has had its place for so long has one of the slow, if there is one, and begins there the next time. */
const SLOW_MS = 1_000;

type Pace = keyof typeof PLACES;

interface Running {
  workspace: Workspace;
  /** Something has happened since it was looked at. */
  again: boolean;
  pace: Pace;
  sinceMs: number;
  work: Promise<void>;
}

/**
 * Delivers to all endpoints of the installation that no other process delivers to, each by itself: a slow one delays no other. Runs
 * until `close`, which ends requests that are under way: another process makes them again, under the same ids.
 */
export class Deliveries {
  readonly #deps: DeliveriesDeps;
  readonly #stopping = new AbortController();
  readonly #posted = new PostedRanges();
  readonly #running = new Map<string, Running>();
  /** When each endpoint had its last turn, and whether that was quick. */
  readonly #turns = new Map<string, { turn: number; pace: Pace }>();
  /** For which places endpoints have waited. */
  readonly #awaited = new Set<Pace>();
  #lastTurn = 0;
  readonly #timer: NodeJS.Timeout;
  #ticking: Promise<void> = Promise.resolve();
  /** A look around is about to begin. */
  #isWoken = false;
  #woken: Set<Workspace> | 'all' = new Set();

  constructor(deps: DeliveriesDeps) {
    this.#deps = deps;
    setMaxListeners(0, this.#stopping.signal);
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

  /** Other processes go on at once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#ticking;
    await Promise.all([...this.#running.values()].map(({ work }) => work));
    const { store, owner, logger } = this.#deps;
    await endSessions(store, owner.processId).catch((thrown: unknown) =>
      logger.warn('others wait until the session of this process has run out', { error: toError(thrown) }),
    );
  }

  async #lookAt(woken: ReadonlySet<Workspace> | 'all'): Promise<void> {
    const { store, owner } = this.#deps;
    const all: { workspace: Workspace; id: WebhookId; name: string }[] = [];
    for (const workspace of woken === 'all' ? await listEventWorkspaces(store) : woken) {
      const ids = await store.redis.smembers(workspaceKeys(store.space, workspace).webhooks);
      all.push(...ids.map((id) => ({ workspace, id, name: `${workspace}/${id}` })));
    }
    // Those first that have waited longest: slow ones leave places to others.
    const turnOf = ({ name }: { name: string }) => this.#turns.get(name)?.turn ?? 0;
    for (const { workspace, id } of all.sort((a, b) => turnOf(a) - turnOf(b))) this.#begin(workspace, id);
    if (woken !== 'all') return;
    // A request may take longer than a session lasts.
    const served = new Set([...this.#running.values()].map(({ workspace }) => workspace));
    await Promise.all([...served].map((workspace) => renewSession(store, workspace, owner)));
    const names = new Set(all.map(({ name }) => name));
    for (const name of this.#turns.keys()) if (!names.has(name)) this.#turns.delete(name);
  }

  #begin(workspace: Workspace, id: WebhookId): void {
    const name = `${workspace}/${id}`;
    const running = this.#running.get(name);
    if (running) running.again = true;
    if (running || this.#stopping.signal.aborted) return;
    const pace = this.#turns.get(name)?.pace ?? 'quick';
    if (!this.#hasPlace(pace)) return void this.#awaited.add(pace);
    const sinceMs = this.#deps.clock.monotonicMs();
    const self: Running = { workspace, again: false, pace, sinceMs, work: Promise.resolve() };
    const turn = { turn: ++this.#lastTurn, pace };
    this.#turns.set(name, turn);
    self.work = this.#run(workspace, id, self)
      .then((last) => {
        turn.pace = last;
      })
      .catch((thrown: unknown) => {
        this.#deps.logger.warn('a webhook was not served', { webhookId: id, error: toError(thrown) });
      })
      .finally(() => {
        this.#running.delete(name);
        if (this.#awaited.delete(self.pace)) this.wake();
        else if (self.again) this.wake(workspace);
      });
    this.#running.set(name, self);
  }

  #isLate({ sinceMs }: Running): boolean {
    return this.#deps.clock.monotonicMs() - sinceMs > SLOW_MS;
  }

  /** Those that turn out to be slow leave their places to quick ones, as far as there are slow ones. */
  #hasPlace(pace: Pace): boolean {
    const taken = { quick: 0, slow: 0 };
    for (const running of this.#running.values()) taken[running.pace]++;
    for (const running of this.#running.values()) {
      if (running.pace === 'slow' || taken.slow >= PLACES.slow || !this.#isLate(running)) continue;
      running.pace = 'slow';
      taken.quick--;
      taken.slow++;
    }
    return taken[pace] < PLACES[pace];
  }

  /**
   * As long as there is something to tell, or something happens meanwhile, if no other endpoint waits for the place. Answers where it
   * begins the next time: what was not asked is as quick as before.
   */
  async #run(workspace: Workspace, id: WebhookId, self: Running): Promise<Pace> {
    const { store, clock, counts } = this.#deps;
    const { signal } = this.#stopping;
    const feed = logFeed(store, workspace, { clock, onGap: () => counts.countGap('log_gone') });
    let next = self.pace;
    do {
      self.again = false;
      self.sinceMs = clock.monotonicMs();
      const outcome = await deliver({ ...this.#deps, feed, signal, posted: this.#posted }, workspace, id);
      if (this.#isLate(self)) next = 'slow';
      else if (outcome === 'more') next = 'quick';
      if (outcome === 'more') self.again = true;
      // What comes close together goes together.
      else if (!signal.aborted) await sleep(REST_MS);
    } while (self.again && !signal.aborted && !this.#awaited.has(self.pace));
    return next;
  }
}
