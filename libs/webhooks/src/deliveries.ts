import { setMaxListeners } from 'node:events';
import type { EventClass } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { listEventWorkspaces } from '@gateway/store/events/open-events';
import { endOfLog } from '@gateway/store/events/read-log';
import { takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { endSessions, renewSession } from '@gateway/store/webhooks/delivering/owners';
import { type DeliverOutcome, deliver } from './deliver.js';
import { logFeed } from './log-feed.js';
import { PostedRanges } from './posted-ranges.js';
import type { DeliverDeps } from './work.js';

export interface DeliveriesDeps extends Omit<DeliverDeps, 'feed' | 'signal' | 'posted'> {
  logger: Logger;
  /** How often those are looked at whose time may have come, and ten times as long all endpoints. Default 1 s. */
  tickMs?: number;
}

const TICK_MS = 1_000;
/** What a lost bell costs, or the end of another process behind that of its session. */
const LOOK_AROUND_TICKS = 10;
/** Of a session, until it is renewed. */
const RENEWED_SHARE = 1 / 3;
const REST_MS = 100;
/** Whether the endpoint is ours after that. */
const IS_OURS: Readonly<Record<DeliverOutcome, boolean>> = {
  ...{ more: true, waiting: true, quiet: true },
  ...{ gone: false, idle: false, taken: false },
};
/** At a time, of those that answer soon and of the others: each has one request in flight per lane. */
const PLACES = { quick: 100, slow: 100 } as const;
/** An endpoint that has had its place for so long has one of the slow, if there is one, and begins there the next time. */
const SLOW_MS = 1_000;

type Pace = keyof typeof PLACES;
const PACES = Object.keys(PLACES) as Pace[];

interface Running {
  workspace: Workspace;
  /** Something has happened since it was looked at. */
  again: boolean;
  /** Lists have more to tell since. */
  gathers: boolean;
  pace: Pace;
  sinceMs: number;
  work: Promise<void>;
}

interface Turn {
  workspace: Workspace;
  id: WebhookId;
  turn: number;
  pace: Pace;
  outcome?: DeliverOutcome;
  /** The endpoint and the end of its log as they were before that, if that was in a look around. */
  seen?: string | undefined;
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
  /** The last of each endpoint. */
  readonly #turns = new Map<string, Turn>();
  /** Those that wait for a place, in their order. */
  readonly #queued = new Map<string, Pick<Turn, 'workspace' | 'id' | 'pace'> & { logEnd: string | undefined }>();
  #lastTurn = 0;
  #ticks = 0;
  #renewedMs: number;
  readonly #timer: NodeJS.Timeout;
  #ticking: Promise<void> = Promise.resolve();
  /** A look around is about to begin. */
  #isWoken = false;
  #woken: Set<Workspace> | 'all' = new Set();

  constructor(deps: DeliveriesDeps) {
    this.#deps = deps;
    setMaxListeners(0, this.#stopping.signal);
    this.#renewedMs = deps.clock.monotonicMs();
    this.#timer = setInterval(() => this.#tick(), deps.tickMs ?? TICK_MS);
    this.wake();
  }

  #tick(): void {
    if (++this.#ticks % LOOK_AROUND_TICKS === 0) this.wake();
    // Some may have turned out to be slow.
    this.#fillPlaces();
    const waiting = [...this.#turns.values()].filter(({ outcome }) => outcome === 'waiting');
    for (const { workspace, id } of waiting) this.#begin(workspace, id);
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#renewedMs < this.#deps.owner.sessionMs * RENEWED_SHARE) return;
    this.#renewedMs = nowMs;
    this.#renew().catch(this.#warn);
  }

  /** What is under way may take longer than a session lasts, and where there is nothing to tell no endpoint is taken for long. */
  async #renew(): Promise<void> {
    const { store, owner } = this.#deps;
    const ours = [...this.#turns.values()].filter(({ outcome }) => outcome && IS_OURS[outcome]);
    const served = new Set([...ours, ...this.#running.values()].map(({ workspace }) => workspace));
    await Promise.all([...served].map((workspace) => renewSession(store, workspace, owner)));
  }

  readonly #warn = (thrown: unknown): void => {
    this.#deps.logger.warn('webhooks were not looked at', { error: toError(thrown) });
  };

  /** Something has happened, in one workspace or anywhere: as well at once as with the next tick. @param news `lists`: to lists alone. */
  wake(workspace?: Workspace, news: EventClass = 'prompt'): void {
    if (this.#stopping.signal.aborted) return;
    if (workspace !== undefined && news === 'lists') return void this.#gather(workspace);
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
      .catch(this.#warn);
  }

  /** That may be gathered: it is looked at with the next tick. */
  #gather(workspace: Workspace): void {
    for (const turn of this.#turns.values()) if (turn.workspace === workspace) lookAtNextTick(turn);
    for (const running of this.#running.values()) running.gathers ||= running.workspace === workspace;
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
    const { store } = this.#deps;
    const all: { workspace: Workspace; id: WebhookId; name: string; logEnd?: string }[] = [];
    for (const workspace of woken === 'all' ? await listEventWorkspaces(store) : woken) {
      const ids = await store.redis.smembers(workspaceKeys(store.space, workspace).webhooks);
      const around = woken === 'all' && ids.length > 0 && { logEnd: (await endOfLog(store, workspace)).entry };
      all.push(...ids.map((id) => ({ workspace, id, name: `${workspace}/${id}`, ...around })));
    }
    // Those first that have waited longest: slow ones leave places to others.
    const turnOf = ({ name }: { name: string }) => this.#turns.get(name)?.turn ?? 0;
    for (const { workspace, id, logEnd } of all.sort((a, b) => turnOf(a) - turnOf(b)))
      this.#begin(workspace, id, logEnd);
    if (woken !== 'all') return;
    const names = new Set(all.map(({ name }) => name));
    for (const name of this.#turns.keys()) if (!names.has(name)) this.#turns.delete(name);
  }

  /** @param logEnd in a look around. */
  #begin(workspace: Workspace, id: WebhookId, logEnd?: string): void {
    const name = `${workspace}/${id}`;
    const running = this.#running.get(name);
    if (running) running.again = true;
    if (running || this.#stopping.signal.aborted) return;
    const last = this.#turns.get(name);
    const pace = last?.pace ?? 'quick';
    if (!this.#hasPlace(pace)) return void this.#queued.set(name, { workspace, id, pace, logEnd });
    this.#queued.delete(name);
    const sinceMs = this.#deps.clock.monotonicMs();
    const self: Running = { workspace, again: false, gathers: false, pace, sinceMs, work: Promise.resolve() };
    const turn: Turn = { ...last, workspace, id, turn: ++this.#lastTurn, pace };
    this.#turns.set(name, turn);
    self.work = this.#runUnlessSeen(turn, self, logEnd)
      .catch((thrown: unknown) => {
        turn.outcome = 'waiting';
        this.#deps.logger.warn('a webhook was not served', { webhookId: id, error: toError(thrown) });
      })
      .finally(() => {
        this.#running.delete(name);
        if (self.gathers) lookAtNextTick(turn);
        this.#fillPlaces();
        if (self.again) this.#begin(workspace, id);
      });
    this.#running.set(name, self);
  }

  #fillPlaces(): void {
    for (const pace of PACES) {
      for (const queued of this.#queued.values()) {
        if (queued.pace !== pace) continue;
        if (!this.#hasPlace(pace)) break;
        this.#begin(queued.workspace, queued.id, queued.logEnd);
      }
    }
  }

  #isAwaited(pace: Pace): boolean {
    return [...this.#queued.values()].some((queued) => queued.pace === pace);
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

  /** What was quiet, and is as it was then, is left alone. */
  async #runUnlessSeen(turn: Turn, self: Running, logEnd: string | undefined): Promise<void> {
    const { store, owner } = this.#deps;
    const seen = logEnd && `${logEnd} ${JSON.stringify(await takeWebhook(store, turn, owner))}`;
    if (seen !== undefined && seen === turn.seen && !self.again) return;
    turn.outcome = 'waiting';
    turn.seen = undefined;
    await this.#run(turn, self);
    if (turn.outcome !== 'waiting') turn.seen = seen;
  }

  /**
   * As long as there is something to tell, or something happens meanwhile, if no other endpoint waits for the place. Its turn says where
   * it begins the next time: what was not asked is as quick as before.
   */
  async #run(turn: Turn, self: Running): Promise<void> {
    const { workspace, id } = turn;
    const { store, clock, counts } = this.#deps;
    const { signal } = this.#stopping;
    const feed = logFeed(store, workspace, { clock, onGap: () => counts.countGap('log_gone') });
    do {
      [self.again, self.gathers] = [false, false];
      self.sinceMs = clock.monotonicMs();
      const outcome = await deliver({ ...this.#deps, feed, signal, posted: this.#posted }, workspace, id);
      turn.outcome = outcome === 'more' ? 'waiting' : outcome;
      if (this.#isLate(self)) turn.pace = 'slow';
      else if (outcome === 'more') turn.pace = 'quick';
      if (outcome === 'more') self.again = true;
      // What comes close together goes together.
      else if (!signal.aborted) await sleep(REST_MS);
    } while (self.again && !signal.aborted && !this.#isAwaited(self.pace));
  }
}

function lookAtNextTick(turn: Turn): void {
  if (turn.outcome === 'quiet') turn.outcome = 'waiting';
}
