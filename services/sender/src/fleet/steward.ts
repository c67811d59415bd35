import { type DeviceAddress, nameOfDevice } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { SHARDS } from '@gateway/contracts/shards';
import type { OpenSession, SessionKeeper } from '@gateway/fleet/session-keeper';
import type { Producer } from '@gateway/queue/producer';
import { type Clock, inTime, sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { isRedisAway } from '@gateway/runtime/redis/is-redis-away';
import { MasterInDoubtError } from '@gateway/store/core/confirming/standing';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { relistDevices } from '@gateway/store/devices/listing/relist-device';
import { listMembers, type Member } from '@gateway/store/fleet/members';
import { processOf } from '@gateway/store/fleet/process-of';
import { takeRole } from '@gateway/store/fleet/shards/take-role';
import { type DueEntry, listDue, putOffDue, serveDue } from '@gateway/store/sends/due/due-entries';
import { mendDue } from '@gateway/store/sends/due/mend-due';
import { readSendByTag } from '@gateway/store/sends/read-send';
import PQueue from 'p-queue';
import { toJob } from '../device/open-sends.js';
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
  /** Default 1 s. For tests. */
  turnMs?: number;
}

const TICK_MS = 1_000;
/**
 * Where nothing is about to be due, a shard is looked at that often: what is accepted becomes due two seconds later, so that it is
 * seen before.
 */
const LOOK_TICKS = 2;
/** So long another process is believed to be the steward: its session may end, and it live on, as after an outage of Redis. */
const BELIEVED_TICKS = 20;
/** Of one shard at a time. */
const MOST_DUE = 100;
/** Redis works for this part of the time at most: after so long, nine times as long nothing is asked of it. */
const WORK_MS = 50;
const REST_FACTOR = 9;
/** Jobs that wait for a queue whose node is away; it wakes owners for more sends than these by doorbells alone. */
const MOST_UNADDED = 100;
/** Accepted that long ago, and woken for once in vain: the worker of the owner may take no job at all. */
const UNHEEDED_MS = 4_000;
/** An owner that hears a doorbell reads which sends are open, of which there may be thousands. */
const BELLS_APART_MS = 10_000;
const MOST_BELLS = 10_000;
/** One that cannot be served must not hold up the others. */
const PUT_OFF_MS = 60_000;
const MEND_MS = 60_000;
/** So long what takes turns waits for one shard: its node may be away, and the commands to it wait without a limit. */
const TURN_MS = 1_000;

/**
 * Serves what is due in shards, of devices with and without an owner: wakes owners that have not taken a send in, ends the sends
 * whose time is over, releases their files. Once a minute it looks whether something open is not due at all, and whether a workspace
 * does not list one of its devices. Each shard has one steward, under the rule of device owners: whose session lives stays it. The role opens no socket, and each step is safe by
 * itself, so two stewards of one shard would do no harm.
 * Each shard is looked at by itself: one whose node hangs holds up no other.
 */
export class Steward {
  private readonly held = new Map<number, OpenSession>();
  /** The process that was the steward when we asked, and until when that is believed, by the monotonic clock. */
  private readonly others = new Map<number, { processId: string; untilMs: number }>();
  /** When each shard was last asked who its steward is, in vain or not. */
  private readonly askedAtMs = new Map<number, number>();
  private readonly wakeUp = new WakeUp();
  private workedMs = 0;
  private unadded = 0;
  /** What was begun, by name: it is not begun again before it is over. */
  private readonly underWay = new Map<string, Promise<void>>();
  /** What is to be done in all shards is done one after the other. */
  private readonly turns = new PQueue({ concurrency: 1 });
  /** When each shard is looked at next, and when it was mended last, by the monotonic clock. */
  private readonly lookAtMs = new Map<number, number>();
  private readonly mendedAtMs = new Map<number, number>();
  /** When a doorbell was last rung for what a device's owner did not heed, by the monotonic clock. */
  private readonly rungAtMs = new Map<string, number>();
  private warnedAtMs = Number.NEGATIVE_INFINITY;
  private stopped = false;
  private readonly tickMs: number;
  private readonly loop: Promise<void>;

  constructor(private readonly deps: StewardDeps) {
    this.tickMs = deps.tickMs ?? TICK_MS;
    this.loop = this.run();
  }

  /** The shards that it serves. */
  get shards(): number[] {
    return [...this.held].flatMap(([shard, { hasEnded }]) => (hasEnded ? [] : [shard]));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.wakeUp.ring();
    await this.loop;
    // What is asked of a node that is away has no answer; each step is safe by itself.
    await inTime(Promise.all(this.underWay.values()), this.deps.turnMs ?? TURN_MS);
  }

  private async run(): Promise<void> {
    for (let tick = 0; !this.stopped; tick++) {
      if (tick % LOOK_TICKS === 0) this.begin('roles', () => this.takeRoles());
      for (const shard of this.shards)
        if (this.isTimeToLook(shard)) this.begin(`due ${shard}`, () => this.serveShard(shard));
      this.mendNext();
      await this.wakeUp.wait(this.tickMs);
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
    if (error instanceof MasterInDoubtError) return;
    const nowMs = this.deps.clock.monotonicMs();
    if (nowMs - this.warnedAtMs < TICK_MS) return;
    this.warnedAtMs = nowMs;
    this.deps.logger.warn('due work not done, will retry', { error });
  }

  /**
   * Of the shards whose steward does not live, its fair part: what is left over is taken at the next ticks. Those first that were
   * asked longest ago: where there are few places left, each has its turn, whatever the others answer.
   */
  private async takeRoles(): Promise<void> {
    for (const [shard, { hasEnded }] of this.held) if (hasEnded) this.held.delete(shard);
    const members = new Set((await this.listSenders()).map(({ id }) => id));
    const nowMs = this.deps.clock.monotonicMs();
    const isServed = (shard: number) => {
      const other = this.others.get(shard);
      return other !== undefined && members.has(other.processId) && other.untilMs > nowMs;
    };
    const isVacant = (shard: number) =>
      !this.held.has(shard) && !isServed(shard) && !this.underWay.has(`role ${shard}`);
    const askedAtMs = (shard: number) => this.askedAtMs.get(shard) ?? Number.NEGATIVE_INFINITY;
    const vacant = Array.from({ length: SHARDS }, (_, shard) => shard)
      .filter(isVacant)
      .sort((one, other) => askedAtMs(one) - askedAtMs(other));
    const share = Math.ceil(SHARDS / Math.max(1, members.size));
    const asked = vacant.slice(0, Math.max(0, share - this.held.size));
    await inTime(Promise.all(asked.map((shard) => this.begin(`role ${shard}`, () => this.takeRole(shard)))), TURN_MS);
  }

  /** None while their list lies on a node that is away: then each shard says itself whether its steward lives. */
  private async listSenders(): Promise<Member[]> {
    const listed = listMembers(this.deps.store);
    return (await inTime(listed, this.deps.turnMs ?? TURN_MS)) ? listed : [];
  }

  private async takeRole(shard: number): Promise<void> {
    this.askedAtMs.set(shard, this.deps.clock.monotonicMs());
    const session = await this.deps.keeper.openIn(shard);
    const holder = await takeRole(this.deps.store, session);
    this.others.delete(shard);
    if (holder === session.id) this.held.set(shard, session);
    // One of ours has ended here, and not yet there.
    if (holder === '' || processOf(holder) === processOf(session.id)) return;
    const untilMs = this.deps.clock.monotonicMs() + BELIEVED_TICKS * this.tickMs;
    this.others.set(shard, { processId: processOf(holder), untilMs });
  }

  /** At the tick that is next to the time. */
  private isTimeToLook(shard: number): boolean {
    return this.deps.clock.monotonicMs() >= (this.lookAtMs.get(shard) ?? 0) - this.tickMs / 2;
  }

  private async serveShard(shard: number): Promise<void> {
    const { store, clock } = this.deps;
    const [lookedAtMs, nowMs] = [clock.monotonicMs(), clock.nowMs()];
    const pauseMs = LOOK_TICKS * this.tickMs;
    const found = await listDue(store, shard, { untilMs: nowMs + pauseMs, limit: MOST_DUE });
    const due = found.filter(({ dueMs }) => dueMs <= nowMs);
    const next = found[due.length];
    const isAll = due.length < MOST_DUE;
    this.lookAtMs.set(shard, lookedAtMs + (next ? next.dueMs - nowMs : isAll ? pauseMs : 0));
    for (const entry of due) {
      if (this.stopped) return;
      const serve = () => this.serve(entry).catch((thrown: unknown) => this.putOff(entry, toError(thrown)));
      // These wait for replicas, and nothing else waits for them.
      if (entry.tag === undefined) void this.begin(`files of ${entry.name}`, serve);
      else await this.inTurn(`entry of ${shard}`, serve);
    }
  }

  /** Resolves when it is done. A turn that takes too long does not hold up the others. */
  private async inTurn(name: string, work: () => Promise<void>): Promise<void> {
    await this.turns.add(() => this.takeTurn(name, work));
    await this.underWay.get(name);
  }

  private async takeTurn(name: string, work: () => Promise<void>): Promise<void> {
    const { monotonicMs } = this.deps.clock;
    const startedMs = monotonicMs();
    const isDone = await inTime(this.begin(name, work), this.deps.turnMs ?? TURN_MS);
    if (isDone) this.workedMs += monotonicMs() - startedMs;
    if (this.workedMs >= WORK_MS) await this.rest();
  }

  private async rest(): Promise<void> {
    const ms = this.workedMs * REST_FACTOR;
    this.workedMs = 0;
    await sleep(ms);
  }

  /** At most one shard begins at a tick. */
  private mendNext(): void {
    const { clock, mendMs = MEND_MS } = this.deps;
    const nowMs = clock.monotonicMs();
    const atMs = (shard: number) => this.mendedAtMs.get(shard) ?? Number.NEGATIVE_INFINITY;
    const [shard] = this.shards.sort((one, other) => atMs(one) - atMs(other));
    if (shard === undefined || nowMs - atMs(shard) < mendMs) return;
    this.mendedAtMs.set(shard, nowMs);
    this.begin(`mend ${shard}`, () => this.mend(shard));
    // Beside it: the lists lie in the slots of workspaces, whose nodes may be away.
    this.begin(`lists of ${shard}`, () => this.relist(shard));
  }

  private async relist(shard: number): Promise<void> {
    const { store, logger } = this.deps;
    for (const address of await relistDevices(store, shard))
      logger.warn('the workspace did not list the device, and does so again', { ...address });
  }

  /** A page at a time: it may have any number of open sends. */
  private async mend(shard: number): Promise<void> {
    const { store, clock, logger } = this.deps;
    const pages = mendDue(store, shard, clock.nowMs());
    let isDone = false;
    const mendPage = async () => {
      // What is thrown has ended it.
      isDone = true;
      const { value, done } = await pages.next();
      if (!done && value > 0) logger.warn('open sends were not due, and are so again', { sends: value });
      isDone = done === true;
    };
    while (!isDone && !this.stopped) await this.inTurn(`page of ${shard}`, mendPage);
  }

  private async serve(entry: DueEntry): Promise<void> {
    const { store, clock } = this.deps;
    const served = await serveDue(store, entry, clock.nowMs());
    if (served.kind === 'expired') await ringDoorbell(store, { topic: 'sends', ...entry.address });
    if (served.kind !== 'wake') return;
    const send = await readSendByTag(store, entry.address, entry.tag!);
    if (!send) return;
    void this.wake(served.processId, toJob(entry.address, send));
    if (clock.nowMs() - send.createdAtMs >= UNHEEDED_MS) await this.ringNowAndThen(entry.address);
  }

  /**
   * Not awaited: the queue of the owner may lie on a node that is away, and the send does not. Then a doorbell tells the owner to compare
   * what is open with what it has.
   */
  private async wake(processId: string, job: SendJob): Promise<void> {
    const { store, turnMs = TURN_MS } = this.deps;
    const { workspace, device } = job;
    const mayAdd = this.unadded < MOST_UNADDED;
    const isAdded = mayAdd && (await inTime(this.add(processId, job), turnMs).catch(() => false));
    if (!isAdded) await ringDoorbell(store, { topic: 'sends', workspace, device });
  }

  private async ringNowAndThen(address: DeviceAddress): Promise<void> {
    const [name, nowMs] = [nameOfDevice(address), this.deps.clock.monotonicMs()];
    if (nowMs - (this.rungAtMs.get(name) ?? Number.NEGATIVE_INFINITY) < BELLS_APART_MS) return;
    if (this.rungAtMs.size >= MOST_BELLS) this.rungAtMs.clear();
    this.rungAtMs.set(name, nowMs);
    await ringDoorbell(this.deps.store, { topic: 'sends', ...address });
  }

  private async add(processId: string, job: SendJob): Promise<void> {
    this.unadded++;
    await this.deps.producer.addSend(processId, job, { again: true }).finally(() => this.unadded--);
  }

  private async putOff(entry: DueEntry, error: Error): Promise<void> {
    const { store, clock, logger } = this.deps;
    // Files wait for replicas.
    const level = isRedisAway(error) ? 'warn' : 'error';
    logger[level]('due work not done, it is put off', { ...entry.address, error });
    await putOffDue(store, entry, clock.nowMs() + PUT_OFF_MS);
  }
}
