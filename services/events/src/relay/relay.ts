import { setMaxListeners } from 'node:events';
import type { EventClass } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { outboxChannel } from '@gateway/contracts/redis-keys';
import { inTime, sleep, systemClock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { isNotConfirmed } from '@gateway/runtime/redis/is-redis-away';
import type { Store } from '@gateway/store/core/store';
import type { Outbox } from '@gateway/store/events/append-events';
import { knownEventWorkspaces, mendEvents, mendHeardEvents } from '@gateway/store/events/open-events';
import { closeUnwanted } from '@gateway/store/events/opening/close-events';
import {
  type FullOutbox,
  findFullIn,
  groupOutboxes,
  type OutboxGroup,
} from '@gateway/store/events/outboxes/find-full-outboxes';
import { boundLog, relayOutbox } from '@gateway/store/events/relay-outbox';
import { GapCount } from '@gateway/store/events/tell-missing';
import { listWorkspaces } from '@gateway/store/workspace/workspaces';
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
  /** How long what lists have to tell is gathered in an outbox. Default 1 s. */
  gatherMs?: number;
  /** Until the next look at an outbox that could not be emptied, and twice as long after each further failure, up to eight times. Default 1 s. */
  againMs?: number;
}

interface Busy {
  /** For what to look again afterwards. */
  next: EventClass | undefined;
  /** Ends the gathering. */
  hurry: AbortController;
}

const TICK_MS = 10_000;
const REST_MS = 100;
/** As often as webhooks look at lists. */
const GATHER_MS = 1_000;
const AGAIN_MS = 1_000;
const MOST_DOUBLINGS = 3;
/** Looks around between two in which missing outboxes are made: a minute. */
const MEND_EVERY = 6;
/** For a look at one workspace, before the next one is looked at as well. */
const PATIENCE_MS = 500;

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
  /** Of the last look around, and those that were heard of since. */
  #listed = new Set<Workspace>();
  /** Looks that have not ended: while a node of Redis is away none begins anew, and they hold up no other. */
  readonly #underWay = new Set<string>();
  /** As each group was found last. */
  #full = new Map<string, FullOutbox[]>();
  readonly #stopping = new AbortController();

  readonly #gaps: GapCount;
  readonly #marks = new Map<string, string>();

  private constructor(private readonly deps: RelayDeps) {
    this.#gaps = new GapCount(() => deps.metrics.countGap('outbox_full'));
    // Each outbox that is being emptied listens.
    setMaxListeners(0, this.#stopping.signal);
  }

  static async start(deps: RelayDeps): Promise<Relay> {
    const relay = new Relay(deps);
    deps.bells.on('message', relay.#hear);
    await deps.bells.subscribe(outboxChannel(deps.store.space));
    relay.#tick();
    return relay;
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** What is under way comes to its end. */
  async stop(): Promise<void> {
    this.#stopping.abort();
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

  /** While Redis is away no look waits behind another. */
  #tick(): void {
    void this.#once('list', () => this.#lookAround());
    this.#timer = setTimeout(() => this.#tick(), this.deps.tickMs ?? TICK_MS);
  }

  async #lookAround(): Promise<void> {
    const { store } = this.deps;
    const { workspaces, isCurrent } = await knownEventWorkspaces(store);
    this.#listed = new Set(isCurrent ? workspaces : [...workspaces, ...this.#listed]);
    for (const place of this.#marks.keys()) if (!this.#listed.has(place.split('/')[0]!)) this.#marks.delete(place);
    const groups = groupOutboxes(store, workspaces);
    this.#full = new Map(groups.map(({ name }) => [name, this.#full.get(name) ?? []]));
    for (const group of groups) void this.#once(`outboxes ${group.name}`, () => this.#lookIn(group));
    void this.#once('workspaces', () => this.#lookAtEach(workspaces));
  }

  async #lookIn(group: OutboxGroup): Promise<void> {
    const { store, metrics } = this.deps;
    const found = await findFullIn(store, group);
    if (this.#full.has(group.name)) this.#full.set(group.name, found);
    for (const outbox of found) this.#empty(outbox);
    const nowMs = systemClock.nowMs();
    const full = [...this.#full.values()].flat();
    metrics.waiting.set(full.length);
    metrics.longest.set(Math.max(0, ...full.map(({ entries }) => entries)));
    metrics.outboxAge.set(Math.max(0, ...full.map(({ oldestMs = nowMs }) => nowMs - oldestMs)) / 1000);
  }

  /** One after the other, as there may be a thousand: but none waits long for the one before. */
  async #lookAtEach(workspaces: readonly Workspace[]): Promise<void> {
    const isTimeToMend = this.#looks++ % MEND_EVERY === 0;
    const lookAt = async (name: string, look: () => Promise<void>) => {
      await inTime(this.#once(name, look), PATIENCE_MS);
    };
    for (const workspace of workspaces) {
      if (this.#isStopped) return;
      await lookAt(`workspace ${workspace}`, () => this.#lookAt(workspace));
    }
    if (!isTimeToMend) return;
    for (const workspace of workspaces) {
      if (!this.#isStopped) await lookAt(`mending ${workspace}`, () => this.#mend(workspace));
    }
    // The list lies elsewhere in a Cluster, and a failover there may have lost an entry.
    for (const { name } of await listWorkspaces(this.deps.store)) {
      if (!this.#isStopped && !this.#listed.has(name)) await lookAt(`mending ${name}`, () => this.#mend(name));
    }
  }

  async #lookAt(workspace: Workspace): Promise<void> {
    const { store } = this.deps;
    await boundLog(store, workspace);
    await closeUnwanted(store, workspace, systemClock.nowMs());
  }

  async #mend(workspace: Workspace, mend = mendEvents): Promise<void> {
    const { store, metrics } = this.deps;
    for (let lost = await mend(store, workspace); lost > 0; lost--) metrics.countGap('outbox_lost');
  }

  #empty(outbox: Outbox, news: EventClass = 'prompt'): void {
    const place = `${outbox.workspace}/${outbox.shard}`;
    const busy = this.#busy.get(place);
    if (!busy && !this.#isStopped) void this.#track(this.#emptyNow(outbox, place, news));
    if (!busy || (busy.next && news === 'lists')) return;
    busy.next = news;
    if (news === 'prompt') busy.hurry.abort();
  }

  async #emptyNow(outbox: Outbox, place: string, news: EventClass): Promise<void> {
    const { restMs = REST_MS, againMs = AGAIN_MS } = this.deps;
    const self: Busy = { next: news, hurry: new AbortController() };
    this.#busy.set(place, self);
    let failures = 0;
    try {
      while (self.next && !this.#isStopped) {
        await this.#gather(self);
        const relayed = await this.#relay(outbox, self);
        void this.#once(`heard ${outbox.workspace}`, () => this.#noteHeard(outbox));
        failures = relayed === 'failed' ? failures + 1 : 0;
        // What was not trimmed lets nothing ring that comes behind it.
        if (relayed !== 'relayed') self.next = 'prompt';
        const afterFailureMs = againMs * 2 ** Math.min(Math.max(failures - 1, 0), MOST_DOUBLINGS);
        await sleep(relayed === 'relayed' ? restMs : afterFailureMs, this.#stopping.signal).catch(() => {});
      }
    } finally {
      this.#busy.delete(place);
    }
  }

  /** More of the same, if that may wait. */
  async #gather(busy: Busy): Promise<void> {
    const mayWait = busy.next !== 'prompt' && !this.#isStopped;
    if (mayWait) await sleep(this.deps.gatherMs ?? GATHER_MS, busy.hurry.signal).catch(() => {});
    busy.next = undefined;
    busy.hurry = new AbortController();
  }

  /** Where a bell rings someone wants events, or wanted them: no look around sees what is not on the list. */
  async #noteHeard({ workspace }: Outbox): Promise<void> {
    if (this.#listed.has(workspace)) return;
    this.#listed.add(workspace);
    await this.#mend(workspace, mendHeardEvents);
  }

  async #relay(outbox: Outbox, busy: Busy): Promise<'relayed' | 'not_confirmed' | 'failed'> {
    const { store, metrics } = this.deps;
    try {
      await relayOutbox(store, outbox, {
        ...{ gaps: this.#gaps, marks: this.#marks },
        onAppended: (entries) => metrics.relayed.inc(entries),
        rest: () => this.#gather(busy),
      });
      return 'relayed';
    } catch (thrown) {
      this.#fail(thrown);
      return isNotConfirmed(thrown) ? 'not_confirmed' : 'failed';
    }
  }

  /** Ends when that does; at once if it is under way already. */
  #once(name: string, work: () => Promise<void>): Promise<void> {
    if (this.#underWay.has(name) || this.#isStopped) return Promise.resolve();
    this.#underWay.add(name);
    return this.#track(work().finally(() => this.#underWay.delete(name)));
  }

  #track(work: Promise<void>): Promise<void> {
    const tracked = work.catch(this.#fail).finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
    return tracked;
  }

  readonly #fail = (thrown: unknown): void => {
    const { logger, metrics } = this.deps;
    metrics.relayFailed.inc();
    logger.warn('an outbox could not be emptied', { error: toError(thrown) });
  };
}
