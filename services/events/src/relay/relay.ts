import type { EventClass } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { outboxChannel } from '@gateway/contracts/redis-keys';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import { closeUnwanted } from '@gateway/store/events/close-unwanted';
import { listEventWorkspaces, mendEvents } from '@gateway/store/events/open-events';
import { findFullOutboxes } from '@gateway/store/events/outboxes/find-full-outboxes';
import { boundLog, type Outbox, relayOutbox } from '@gateway/store/events/relay-outbox';
import type { EventsMetrics } from '../events-metrics.js';

/** What a relay listens with: a connection of its own, as a subscribed one takes no other commands. */
export interface Bells {
  subscribe(channel: string): Promise<unknown>;
  on(event: 'message', listener: (channel: string, text: string) => void): unknown;
  off(event: 'message', listener: (channel: string, text: string) => void): unknown;
}

interface RelayDeps {
  store: Store;
  bells: Bells;
  logger: Logger;
  metrics: Pick<EventsMetrics, 'relayed' | 'relayFailed' | 'waiting' | 'longest' | 'outboxAge' | 'countGap'>;
  /** Default 10 s: what a lost bell costs. */
  tickMs?: number;
  /** Between two looks at one outbox, so that what comes close together goes together. Default 100 ms. */
  restMs?: number;
  /** How long what lists have to tell is gathered in an outbox. Default 400 ms. */
  gatherMs?: number;
}

interface Busy {
  /** For what to look again afterwards. */
  next: EventClass | undefined;
  /** Ends the gathering. */
  hurry: AbortController;
}

const TICK_MS = 10_000;
const REST_MS = 100;
const GATHER_MS = 400;
/** Looks around between two in which missing outboxes are made: a minute. */
const MEND_EVERY = 6;

/**
 * Empties outboxes into the logs of their workspaces, when a bell rings and every ten seconds. Any number of processes may do it at
 * the same time: who comes second finds the mark moved. What lists have to tell waits a little for more of the same.
 */
export class Relay {
  /** Outboxes that are being emptied. */
  readonly #busy = new Map<string, Busy>();
  readonly #work = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;
  #isClosed = false;

  private constructor(private readonly deps: RelayDeps) {}

  static async start(deps: RelayDeps): Promise<Relay> {
    const relay = new Relay(deps);
    deps.bells.on('message', relay.#hear);
    await deps.bells.subscribe(outboxChannel(deps.store.space));
    relay.#tick();
    return relay;
  }

  /** What is under way comes to its end. */
  async stop(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.deps.bells.off('message', this.#hear);
    for (const { hurry } of this.#busy.values()) hurry.abort();
    await Promise.all(this.#work);
  }

  readonly #hear = (channel: string, text: string): void => {
    if (channel !== outboxChannel(this.deps.store.space)) return;
    const [workspace, shard, news] = text.split('/');
    if (!workspace || !shard || !/^\d+$/.test(shard)) return;
    this.#empty({ workspace, shard: Number(shard) }, news === 'lists' ? 'lists' : 'prompt');
  };

  /** The next look comes after this one: while Redis is away none waits behind another. */
  #tick(): void {
    const look = this.#lookAround().finally(() => {
      if (!this.#isClosed) this.#timer = setTimeout(() => this.#tick(), this.deps.tickMs ?? TICK_MS);
    });
    this.#track(look);
  }

  async #lookAround(): Promise<void> {
    const { store, metrics } = this.deps;
    const workspaces = await listEventWorkspaces(store);
    const full = await findFullOutboxes(store, ...workspaces);
    const nowMs = systemClock.nowMs();
    metrics.waiting.set(full.length);
    metrics.longest.set(Math.max(0, ...full.map(({ entries }) => entries)));
    metrics.outboxAge.set(Math.max(0, ...full.map(({ oldestMs = nowMs }) => nowMs - oldestMs)) / 1000);
    for (const outbox of full) this.#empty(outbox);
    // What is wrong with one holds up no other.
    for (const workspace of workspaces) await this.#lookAt(workspace, nowMs).catch(this.#fail);
    this.#looks++;
  }

  async #lookAt(workspace: Workspace, nowMs: number): Promise<void> {
    const { store } = this.deps;
    await boundLog(store, workspace);
    const isClosed = await closeUnwanted(store, workspace, nowMs);
    if (!isClosed && this.#looks % MEND_EVERY === 0) await mendEvents(store, workspace);
  }

  #empty(outbox: Outbox, news: EventClass = 'prompt'): void {
    const place = `${outbox.workspace}/${outbox.shard}`;
    const busy = this.#busy.get(place);
    if (!busy && !this.#isClosed) this.#track(this.#emptyNow(outbox, place, news));
    if (!busy || (busy.next && news === 'lists')) return;
    busy.next = news;
    if (news === 'prompt') busy.hurry.abort();
  }

  async #emptyNow(outbox: Outbox, place: string, news: EventClass): Promise<void> {
    const { store, metrics, restMs = REST_MS, gatherMs = GATHER_MS } = this.deps;
    const self: Busy = { next: news, hurry: new AbortController() };
    this.#busy.set(place, self);
    try {
      while (self.next && !this.#isClosed) {
        if (self.next === 'lists') await sleep(gatherMs, self.hurry.signal).catch(() => {});
        self.next = undefined;
        self.hurry = new AbortController();
        metrics.relayed.inc(await relayOutbox(store, outbox, () => metrics.countGap('outbox_full')));
        await sleep(restMs);
      }
    } finally {
      this.#busy.delete(place);
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.catch(this.#fail).finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }

  readonly #fail = (thrown: unknown): void => {
    const { logger, metrics } = this.deps;
    metrics.relayFailed.inc();
    logger.warn('an outbox could not be emptied', { error: toError(thrown) });
  };
}
