import { SHARDS } from '@gateway/contracts/shards';
import type { OpenSession, SessionKeeper } from '@gateway/fleet/session-keeper';
import type { Producer } from '@gateway/queue/producer';
import { type Clock, sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { listMembers } from '@gateway/store/fleet/members';
import { processOf } from '@gateway/store/fleet/process-of';
import { takeRole } from '@gateway/store/fleet/shards/take-role';
import { type DueEntry, listDue, putOffDue, serveDue } from '@gateway/store/sends/due/due-entries';
import { mendDue } from '@gateway/store/sends/due/mend-due';
import { readSendByTag } from '@gateway/store/sends/read-send';
import PQueue from 'p-queue';
import { toJob } from '../scheduling/active-sends.js';
import { WakeUp } from '../scheduling/wake-up.js';

export interface StewardDeps {
  store: Store;
  keeper: SessionKeeper;
  producer: Producer;
  clock: Clock;
  logger: Logger;
  /** Default 1 s. For tests. */
  tickMs?: number;
  /** Default 1 min: each shard is mended that often. For tests. */
  mendMs?: number;
}

const TICK_MS = 1_000;
/** Of one shard at a time. */
const MOST_DUE = 100;
/** Redis works for this part of the time at most: after so long, nine times as long nothing is asked of it. */
const WORK_MS = 50;
const REST_FACTOR = 9;
/** One that cannot be served must not hold up the others. */
const PUT_OFF_MS = 60_000;
const MEND_MS = 60_000;
/** So long what takes turns waits for one shard: its node may be away, and the commands to it wait without a limit. */
const TURN_MS = 1_000;

/**
 * Serves what is due in shards, of devices with and without an owner: wakes owners that have not taken a send in, ends the sends
 * whose time is over, releases their files. Once a minute it looks whether something open is not due at all. Each shard has one steward, under the rule of device owners: whose session lives
 * stays it. The role opens no socket, and each step is safe by itself, so two stewards of one shard would do no harm.
 * Each shard is looked at by itself: one whose node hangs holds up no other.
 */
export class Steward {
  private readonly held = new Map<number, OpenSession>();
  /** The process that was the steward when we looked. */
  private readonly others = new Map<number, string>();
  private readonly wakeUp = new WakeUp();
  private workedMs = 0;
  /** What was begun, by name: it is not begun again before it is over. */
  private readonly underWay = new Map<string, Promise<void>>();
  /** What is due of all shards is served one after the other. */
  private readonly turns = new PQueue({ concurrency: 1 });
  /** When each shard was mended last, by the monotonic clock. */
  private readonly mendedAtMs = new Map<number, number>();
  private mending: AsyncGenerator<number> | undefined;
  private warnedAtMs = Number.NEGATIVE_INFINITY;
  private stopped = false;
  private readonly loop: Promise<void>;

  constructor(private readonly deps: StewardDeps) {
    this.loop = this.run();
  }

  /** The shards that it serves. */
  get shards(): number[] {
    return [...this.held.keys()];
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.wakeUp.ring();
    await this.loop;
    await Promise.all(this.underWay.values());
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      this.begin('roles', () => this.takeRoles());
      for (const shard of this.shards) this.begin(`due ${shard}`, () => this.serveShard(shard));
      this.begin('mend', () => this.mend());
      await this.wakeUp.wait(this.deps.tickMs ?? TICK_MS);
    }
  }

  /** Returns it as long as it is under way. It never rejects. */
  private begin(name: string, work: () => Promise<void>): Promise<void> {
    const known = this.underWay.get(name);
    if (known) return known;
    const begun = work()
      .catch((thrown: unknown) => this.warn(toError(thrown)))
      .finally(() => this.underWay.delete(name));
    this.underWay.set(name, begun);
    return begun;
  }

  /** While Redis is away all shards fail alike. */
  private warn(error: Error): void {
    const nowMs = this.deps.clock.monotonicMs();
    if (nowMs - this.warnedAtMs < TICK_MS) return;
    this.warnedAtMs = nowMs;
    this.deps.logger.warn('due work not done, will retry', { error });
  }

  /** Of the shards whose steward does not live, its fair part: what is left over is taken at the next ticks. */
  private async takeRoles(): Promise<void> {
    for (const [shard, { hasEnded }] of this.held) if (hasEnded) this.held.delete(shard);
    const members = (await listMembers(this.deps.store)).map(({ id }) => id);
    const isServed = (shard: number) => this.held.has(shard) || members.includes(this.others.get(shard) ?? '');
    const isVacant = (shard: number) => !isServed(shard) && !this.underWay.has(`role ${shard}`);
    const vacant = Array.from({ length: SHARDS }, (_, shard) => shard).filter(isVacant);
    const share = Math.ceil(SHARDS / Math.max(1, members.length));
    const asked = vacant.slice(0, Math.max(0, share - this.held.size));
    await inTime(Promise.all(asked.map((shard) => this.begin(`role ${shard}`, () => this.takeRole(shard)))));
  }

  private async takeRole(shard: number): Promise<void> {
    const session = await this.deps.keeper.openIn(shard);
    const holder = await takeRole(this.deps.store, session);
    if (holder === session.id) this.held.set(shard, session);
    else if (holder !== '') this.others.set(shard, processOf(holder));
  }

  private async serveShard(shard: number): Promise<void> {
    const { store, clock } = this.deps;
    const due = await listDue(store, shard, { nowMs: clock.nowMs(), limit: MOST_DUE });
    for (const entry of due) {
      if (this.stopped) return;
      await this.turns.add(() => this.takeTurn(`entry of ${shard}`, entry));
      await this.underWay.get(`entry of ${shard}`);
    }
  }

  private async takeTurn(name: string, entry: DueEntry): Promise<void> {
    const { monotonicMs } = this.deps.clock;
    const startedMs = monotonicMs();
    const serve = () => this.serve(entry).catch((thrown: unknown) => this.putOff(entry, toError(thrown)));
    const isDone = await inTime(this.begin(name, serve));
    if (isDone) this.workedMs += monotonicMs() - startedMs;
    if (this.workedMs >= WORK_MS) await this.rest();
  }

  private async rest(): Promise<void> {
    const ms = this.workedMs * REST_FACTOR;
    this.workedMs = 0;
    await sleep(ms);
  }

  /** One shard after the other, and of each a part at a time: it may have any number of open sends. */
  private async mend(): Promise<void> {
    const { clock, logger } = this.deps;
    const startedMs = clock.monotonicMs();
    this.mending ??= this.beginMending();
    while (this.mending && !this.stopped && clock.monotonicMs() - startedMs < WORK_MS) {
      // What is thrown has ended it.
      const { value, done } = await this.mending.next();
      if (done) this.mending = undefined;
      else if (value > 0) logger.warn('open sends were not due, and are so again', { sends: value });
    }
  }

  private beginMending(): AsyncGenerator<number> | undefined {
    const { store, clock, mendMs = MEND_MS } = this.deps;
    const nowMs = clock.monotonicMs();
    const atMs = (shard: number) => this.mendedAtMs.get(shard) ?? Number.NEGATIVE_INFINITY;
    const [shard] = this.shards.sort((one, other) => atMs(one) - atMs(other));
    if (shard === undefined || nowMs - atMs(shard) < mendMs) return undefined;
    this.mendedAtMs.set(shard, nowMs);
    return mendDue(store, shard, clock.nowMs());
  }

  private async serve(entry: DueEntry): Promise<void> {
    const { store, clock, producer } = this.deps;
    const served = await serveDue(store, entry, clock.nowMs());
    if (served.kind === 'expired') await ringDoorbell(store, { topic: 'sends', ...entry.address });
    if (served.kind !== 'wake') return;
    const send = await readSendByTag(store, entry.address, entry.tag!);
    if (send) await producer.addSend(served.processId, toJob(entry.address, send), { again: true });
  }

  private async putOff(entry: DueEntry, error: Error): Promise<void> {
    const { store, clock, logger } = this.deps;
    logger.error('due work not done, it is put off', { ...entry.address, error });
    await putOffDue(store, entry, clock.nowMs() + PUT_OFF_MS);
  }
}

/** Whether it is over in `TURN_MS`. */
async function inTime(work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const late = sleep(TURN_MS, over.signal).then(
    () => false,
    () => true,
  );
  return Promise.race([work.then(() => true), late]).finally(() => over.abort());
}
