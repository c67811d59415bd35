import { setMaxListeners } from 'node:events';
import { getHeapStatistics } from 'node:v8';
import type { EventClass } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { KeptConnections } from '@gateway/egress/connections/kept-connections';
import { ByteBudget } from '@gateway/runtime/bytes/byte-budget';
import { sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { knownEventWorkspaces } from '@gateway/store/events/open-events';
import { endOfLog } from '@gateway/store/events/read-log';
import { ReceivedReads } from '@gateway/store/events/reading/received-reads';
import { takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { endSessions, renewSession } from '@gateway/store/webhooks/delivering/owners';
import { type DeliverOutcome, deliver } from './deliver.js';
import { type FeedMemory, logFeed } from './log/log-feed.js';
import { News } from './news.js';
import { PostedRanges } from './posted-ranges.js';
import { LongWays } from './turns/long-ways.js';
import { type Holder, isLate, PACES, type Pace, Places, paceOf } from './turns/places.js';
import type { DeliverDeps } from './work.js';

export interface DeliveriesDeps
  extends Omit<
    DeliverDeps,
    'feed' | 'signal' | 'posted' | 'longWays' | 'memory' | 'connections' | 'known' | 'untilNews' | 'goesOnMs' | 'onNext'
  > {
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
/** In one look, so long one request follows another; replays, what is put aside, and others that wait for a place have to wait for that. */
const GOES_ON_MS = 1_000;
/** Whether the endpoint is ours after that. */
const IS_OURS: Readonly<Record<DeliverOutcome, boolean>> = {
  ...{ more: true, waiting: true, quiet: true },
  ...{ gone: false, idle: false, taken: false },
};
/** Of the heap, for what is posted. */
const PART_OF_HEAP = 8;

/** In a look around what is as it was is left alone. */
type Look = 'told' | 'around';

interface Running extends Holder {
  /** Something has happened since it was looked at. */
  again: boolean;
  /** Lists have more to tell since. */
  gathers: boolean;
  /** Of both, for what has nothing to do while requests are under way. */
  news: News;
  work: Promise<void>;
}

interface Queued {
  workspace: Workspace;
  id: WebhookId;
  /** In a look around. */
  logEnd: string | undefined;
}

interface Turn {
  workspace: Workspace;
  id: WebhookId;
  turn: number;
  /** When it was late the last time, unless it has answered soon since. */
  lateMs?: number | undefined;
  outcome?: DeliverOutcome;
  /** The endpoint and the end of its log as they were before that, if that was in a look around. */
  seen?: string | undefined;
  known: DeliverDeps['known'];
  memory: FeedMemory;
}

/**
 * Delivers to all endpoints of the installation that no other process delivers to, each by itself: a slow one delays no other. Runs
 * until `close`, which ends requests that are under way: another process makes them again, under the same ids.
 */
export class Deliveries {
  readonly #deps: DeliveriesDeps;
  readonly #stopping = new AbortController();
  readonly #posted = new PostedRanges();
  readonly #longWays = new LongWays();
  readonly #memory = new ByteBudget(Math.floor(getHeapStatistics().heap_size_limit / PART_OF_HEAP));
  readonly #reads = new ReceivedReads();
  readonly #connections = new KeptConnections();
  readonly #running = new Map<string, Running>();
  readonly #places = new Places();
  /** The last of each endpoint. */
  readonly #turns = new Map<string, Turn>();
  /** Those that wait for a place, in their order. */
  readonly #queued: Record<Pace, Map<string, Queued>> = { quick: new Map(), slow: new Map() };
  #lastTurn = 0;
  #ticks = 0;
  #renewedMs: number;
  readonly #timer: NodeJS.Timeout;
  /** Workspaces that are being looked at, each by itself, as the node of one may be away; and why to look again. */
  readonly #looking = new Map<Workspace, Look | undefined>();
  /** Endpoints, as they were found last. */
  readonly #names = new Map<Workspace, ReadonlySet<string>>();
  #around: Promise<void> | undefined;

  constructor(deps: DeliveriesDeps) {
    this.#deps = deps;
    setMaxListeners(0, this.#stopping.signal);
    this.#renewedMs = deps.clock.monotonicMs();
    this.#timer = setInterval(() => this.#tick(), deps.tickMs ?? TICK_MS);
    this.wake();
  }

  #tick(): void {
    if (++this.#ticks % LOOK_AROUND_TICKS === 0) this.wake();
    for (const running of this.#running.values()) if (running.gathers) running.news.tell();
    // Some may have turned out to be slow.
    this.#fillPlaces();
    const waiting = [...this.#turns.values()].filter((turn) => mayBeTime(turn, this.#deps.clock.nowMs()));
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
    if (workspace === undefined) this.#lookAround();
    else if (news === 'lists') this.#gather(workspace);
    else this.#look(workspace, 'told');
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
    await Promise.all([...this.#running.values()].map(({ work }) => work));
    await this.#connections.close();
    const { store, owner, logger } = this.#deps;
    await endSessions(store, owner.processId).catch((thrown: unknown) =>
      logger.warn('others wait until the session of this process has run out', { error: toError(thrown) }),
    );
  }

  #lookAround(): void {
    this.#around ??= knownEventWorkspaces(this.#deps.store)
      .then(({ workspaces, isCurrent }) => {
        if (isCurrent) this.#forgetAllBut(new Set(workspaces));
        for (const workspace of workspaces) this.#look(workspace, 'around');
      })
      .catch(this.#warn)
      .finally(() => {
        this.#around = undefined;
      });
  }

  /** What was deleted. */
  #forgetAllBut(workspaces: ReadonlySet<Workspace>): void {
    for (const workspace of this.#names.keys()) if (!workspaces.has(workspace)) this.#names.delete(workspace);
    const names = new Set([...this.#names.values()].flatMap((each) => [...each]));
    for (const name of this.#turns.keys()) if (!names.has(name)) this.#turns.delete(name);
    this.#connections.endAllBut(names);
  }

  #look(workspace: Workspace, look: Look): void {
    const isLooking = this.#looking.has(workspace);
    if (this.#looking.get(workspace) !== 'told') this.#looking.set(workspace, look);
    if (!isLooking) void this.#lookAt(workspace);
  }

  async #lookAt(workspace: Workspace): Promise<void> {
    // What is told in one turn of the event loop is one look.
    await undefined;
    for (;;) {
      const look = this.#looking.get(workspace);
      if (!look || this.#stopping.signal.aborted) break;
      this.#looking.set(workspace, undefined);
      await this.#beginAll(workspace, look).catch(this.#warn);
    }
    this.#looking.delete(workspace);
  }

  async #beginAll(workspace: Workspace, look: Look): Promise<void> {
    const { store } = this.#deps;
    const ids = await store.redis.smembers(workspaceKeys(store.space, workspace).webhooks);
    const logEnd = look === 'around' && ids.length > 0 ? (await endOfLog(store, workspace)).entry : undefined;
    const all = ids.map((id) => ({ id, name: `${workspace}/${id}` }));
    this.#names.set(workspace, new Set(all.map(({ name }) => name)));
    // Those first that have waited longest: slow ones leave places to others.
    const turnOf = ({ name }: { name: string }) => this.#turns.get(name)?.turn ?? 0;
    for (const { id, name } of all.sort((a, b) => turnOf(a) - turnOf(b))) {
      this.#running.get(name)?.news.tell();
      this.#begin(workspace, id, logEnd);
    }
  }

  /** @param logEnd in a look around. */
  #begin(workspace: Workspace, id: WebhookId, logEnd?: string): void {
    const name = `${workspace}/${id}`;
    const running = this.#running.get(name);
    if (running) running.again = true;
    if (running || this.#stopping.signal.aborted) return;
    const last = this.#turns.get(name);
    const sinceMs = this.#deps.clock.monotonicMs();
    const pace = paceOf(last?.lateMs, sinceMs);
    const hasPlace = this.#hasPlace(pace, workspace);
    for (const each of PACES) if (hasPlace || each !== pace) this.#queued[each].delete(name);
    // One that waits already keeps its turn.
    if (!hasPlace) return void this.#queued[pace].set(name, { workspace, id, logEnd });
    const self: Running = {
      ...{ workspace, again: false, gathers: false, news: new News(), pace, sinceMs },
      work: Promise.resolve(),
    };
    const turn: Turn = {
      known: {},
      memory: { passed: new Map(), reads: new Map(), due: new Map() },
      ...last,
      workspace,
      id,
      turn: ++this.#lastTurn,
    };
    this.#turns.set(name, turn);
    self.work = this.#runUnlessSeen(turn, self, logEnd)
      .catch((thrown: unknown) => {
        turn.outcome = 'waiting';
        this.#deps.logger.warn('a webhook was not served', { webhookId: id, error: toError(thrown) });
      })
      .finally(() => {
        this.#running.delete(name);
        this.#places.leave(self);
        if (self.gathers) lookAtNextTick(turn);
        this.#fillPlaces();
        if (self.again) this.#begin(workspace, id);
      });
    this.#running.set(name, self);
    this.#places.take(self);
  }

  #fillPlaces(): void {
    this.#places.moveLate(this.#deps.clock.monotonicMs());
    for (const pace of PACES) {
      for (const { workspace, id, logEnd } of this.#queued[pace].values()) {
        if (this.#places.isFull(pace)) break;
        if (this.#places.isFree(pace, workspace)) this.#begin(workspace, id, logEnd);
      }
    }
  }

  #isAwaited(pace: Pace): boolean {
    return this.#queued[pace].size > 0;
  }

  #hasPlace(pace: Pace, workspace: Workspace): boolean {
    if (this.#places.isFree(pace, workspace)) return true;
    this.#places.moveLate(this.#deps.clock.monotonicMs());
    return this.#places.isFree(pace, workspace);
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
   * As long as there is something to tell, or something happens meanwhile, if no other endpoint waits for the place. Its turn says whether
   * it was late: what was not asked is as before.
   */
  async #run(turn: Turn, self: Running): Promise<void> {
    const { workspace, id, known, memory } = turn;
    const { store, clock, counts } = this.#deps;
    const { signal } = this.#stopping;
    const onGap = () => counts.countGap('log_gone');
    const kept = {
      posted: this.#posted,
      longWays: this.#longWays,
      memory: this.#memory,
      connections: this.#connections,
      known,
    };
    const whileUnderWay = {
      ...{ untilNews: () => self.news.next(), goesOnMs: GOES_ON_MS },
      // What answers soon is quick, however much it is told.
      onNext: () => {
        self.sinceMs = clock.monotonicMs();
      },
    };
    const deps = { ...this.#deps, ...kept, ...whileUnderWay, signal };
    do {
      [self.again, self.gathers] = [false, false];
      self.sinceMs = clock.monotonicMs();
      const feed = logFeed(store, workspace, { clock, onGap, memory, describe: this.#reads.describe });
      const outcome = await deliver({ ...deps, feed }, workspace, id);
      turn.outcome = outcome === 'more' ? 'waiting' : outcome;
      const nowMs = clock.monotonicMs();
      if (isLate(self, nowMs)) turn.lateMs = nowMs;
      else if (known.wasAsked) turn.lateMs = undefined;
      if (outcome === 'more') self.again = true;
      // What comes close together goes together.
      else if (!signal.aborted) await sleep(REST_MS);
    } while (self.again && !signal.aborted && !this.#isAwaited(self.pace));
  }
}

function lookAtNextTick(turn: Turn): void {
  if (turn.outcome === 'quiet') turn.outcome = 'waiting';
  turn.known.onlyGathers = false;
}

/** Where nothing has come since there is no look before it is time. */
function mayBeTime({ outcome, known, memory }: Turn, nowMs: number): boolean {
  return outcome === 'waiting' && (!known.onlyGathers || nowMs >= Math.min(...memory.due.values()));
}
