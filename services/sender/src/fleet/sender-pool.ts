import type { Doorbell } from '@gateway/contracts/doorbell';
import { type DeviceAddress, nameOfDevice } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { chooseOrphans, countSurplus, type Fleet } from '@gateway/fleet/assignment';
import { drainDevices } from '@gateway/fleet/drain';
import { LinkedDevices } from '@gateway/fleet/linked-devices';
import { Room } from '@gateway/fleet/make-room';
import { ShardWatch } from '@gateway/fleet/shard-watch';
import { StableMembership } from '@gateway/fleet/stable-membership';
import { inTime } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import { collectGarbage } from '@gateway/runtime/process/collect-garbage';
import { onRegained } from '@gateway/runtime/redis/on-regained';
import { MasterInDoubtError } from '@gateway/store/core/confirming/standing';
import type { DoorbellListener } from '@gateway/store/core/doorbells';
import { beatHeart, leaveMembers, type Member, mostDevices } from '@gateway/store/fleet/members';
import type { ProcessDeps } from '../deps.js';
import { DeviceOwner, type OwnerState } from '../device/device-owner.js';
import type { PlaceCounts } from '../scheduling/places.js';
import { WakeUp } from '../scheduling/wake-up.js';
import { LoginGarbage } from './login-garbage.js';
import { Successors } from './successors.js';

export interface PoolDeps extends ProcessDeps {
  /** Of this process, in sessions and in the member set. */
  processId: string;
  doorbells: DoorbellListener;
  maxDevices: number;
  /** A sender that is silent for this long gets no devices. */
  memberTtlMs: number;
  /** Default 1 s. For tests. */
  tickMs?: number;
  /** Default 2 s. For tests. */
  endMs?: number;
}

export const TICK_MS = 1_000;
const REST_AFTER_FAILURE_MS = 5_000;
/** The queue hands out so many jobs at a time for all devices: those of a node that is away do not keep them. */
const TAKE_MS = 1_000;
/** What is asked of a node that is away has no answer: the end of a sender waits so long for each of its steps. */
const END_MS = 2_000;
/** Several of these one after the other. */
const HAND_OVER_STEPS = 4;
/** Devices that move for balance alone, at once. */
const MOST_MOVING = 2;

/**
 * The devices of one sender process. On every tick, and when it sees devices without an owner, it claims its part of them;
 * what has an owner stays there. Devices move for balance only from a sender that has far more than its share. A sender
 * that ends says first that it takes no more, and gives its devices up as fast as others open them.
 */
export class SenderPool {
  /** By `workspace/device`, as all maps here. */
  private readonly owners = new Map<string, DeviceOwner>();
  private readonly tickMs: number;
  private readonly wakeUp = new WakeUp();
  private readonly membership: StableMembership;
  private readonly linked: LinkedDevices;
  private readonly watch: ShardWatch;
  private readonly room: Room;
  private readonly successors: Successors;
  private readonly garbage = new LoginGarbage(collectGarbage);
  private members: readonly Member[] = [];
  private beatAtMs = Number.NEGATIVE_INFINITY;
  private beating: Promise<void> | undefined;
  /** Until then the others count on this process, by the monotonic clock. */
  private memberUntilMs = Number.NEGATIVE_INFINITY;
  private isSettled = false;
  /** To be claimed here, as soon as they may open. */
  private chosen: DeviceAddress[] = [];
  private readonly claiming = new Map<string, Promise<void>>();
  private readonly stopListening: (() => void)[];
  /** When devices whose owner has failed may be claimed again, by the monotonic clock. */
  private readonly notBeforeMs = new Map<string, number>();
  private isDraining = false;
  private stopped = false;
  private readonly loop: Promise<void>;

  constructor(private readonly deps: PoolDeps) {
    this.tickMs = deps.tickMs ?? TICK_MS;
    this.membership = new StableMembership(deps.clock.monotonicMs);
    this.linked = new LinkedDevices(deps.clock);
    this.successors = new Successors({ ...deps, exist: () => this.hasTakers() });
    this.room = new Room({
      monotonicMs: deps.clock.monotonicMs,
      onFull: (shortage) =>
        deps.logger.warn('all senders are full: each takes up to a tenth more devices than MAX_DEVICES', shortage),
    });
    this.stopListening = [
      deps.doorbells.on((bell) => {
        // What owners say themselves is not news to them.
        if (bell.topic === 'sends' || bell.topic === 'desired') this.ownerOf(bell)?.look();
        if (bell.topic === 'questions') this.ownerOf(bell)?.answerQuestions();
        if (bell.code) void this.ownerOf(bell)?.takeJob(jobOfCode(bell, bell.code), 'doorbell');
      }),
      deps.doorbells.onGap(() => this.lookAfterGap()),
      onRegained(deps.store.redis, () => this.lookAfterGap()),
    ];
    this.watch = new ShardWatch({
      ...deps,
      onSeen: (...seen) => {
        const hasOrphan = this.linked.keep(...seen);
        if (hasOrphan || (!this.isSettled && this.linked.isComplete)) this.wakeUp.ring();
      },
    });
    deps.openings.on('next', () => this.claimChosen());
    this.loop = this.run();
  }

  private lookAfterGap(): void {
    for (const owner of this.owners.values()) owner.look({ afterGap: true });
  }

  /** How many devices are in which state, for metrics. */
  countStates(): Record<OwnerState, number> {
    const counts = { backingOff: 0, opening: 0, open: 0, waiting: 0, ended: 0 };
    for (const { state } of this.owners.values()) counts[state]++;
    return counts;
  }

  /** How many recipients are in which place, for metrics. */
  countPlaces(): PlaceCounts {
    const counts = { waiting: 0, ready: 0, alone: 0, pausing: 0, held: 0, inFlight: 0 };
    for (const owner of this.owners.values()) owner.countPlaces(counts);
    return counts;
  }

  /** Throws until this process has claimed the devices that waited for one when it came, and while the fleet does not hear of it. */
  assertReady(): void {
    if (this.deps.clock.monotonicMs() >= this.memberUntilMs) throw new Error('not in the fleet');
    if (!this.isSettled) throw new Error('claims its devices');
  }

  /**
   * A send was accepted for a device of this process. The next owner of one that is not here finds it by itself. Resolves when it is
   * loaded or waits for a place, or a little later while its node of a Cluster has no answer: it is loaded all the same.
   */
  async takeJob(job: SendJob): Promise<void> {
    const taken = this.ownerOf(job)?.takeJob(job);
    if (taken) await inTime(taken, TAKE_MS);
  }

  /** Hands every device over, at the pace of those that take them. */
  async stop(): Promise<void> {
    const { store, processId, endMs = END_MS } = this.deps;
    this.isDraining = true;
    await inTime(this.beat().catch(this.logFailure), endMs);
    await this.drain();
    this.stopped = true;
    for (const stop of this.stopListening) stop();
    this.successors.stop();
    this.wakeUp.ring();
    const left = leaveMembers(store, processId).catch(() => undefined);
    await inTime(Promise.all([left, this.loop, this.watch.stop(), ...this.claiming.values()]), endMs);
    // One may have been claimed in the moment in which the end began.
    await inTime(this.handOverAll(), endMs * HAND_OVER_STEPS);
  }

  private handOverAll(): Promise<unknown> {
    return Promise.all([...this.owners.values()].map((owner) => owner.handOver()));
  }

  private async drain(): Promise<void> {
    const owners = [...this.owners.values()];
    const open = owners.filter(({ state }) => state === 'open');
    // Those without a connection have none to lose.
    for (const owner of owners) if (owner.state !== 'open') void owner.handOver();
    await drainDevices(open, {
      clock: this.deps.clock,
      release: (owner) => owner.handOver(),
      untilConnected: ({ address }, ms) => this.successors.untilConnected(address, ms),
      hasTakers: () => this.hasTakers(),
      releasedMs: (this.deps.endMs ?? END_MS) * HAND_OVER_STEPS,
    });
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      try {
        await this.tick();
      } catch (thrown) {
        this.logFailure(thrown);
      }
      await this.wakeUp.wait(this.tickMs);
    }
  }

  private async tick(): Promise<void> {
    const isBeat = this.deps.clock.monotonicMs() - this.beatAtMs >= this.tickMs * 0.9;
    if (isBeat) await this.beatInTime();
    if (this.isDraining) return;
    const fleet = this.describeFleet();
    this.chosen = chooseOrphans(fleet, (device) => this.linked.isLate(device));
    this.claimChosen();
    this.isSettled ||= this.linked.isComplete && this.chosen.length === 0 && this.claiming.size === 0;
    if (!isBeat) return;
    if (this.membership.isStable(this.members)) this.giveBack(countSurplus(fleet));
    const { open, opening } = this.countStates();
    this.garbage.tick({ open, isBusy: opening + this.claiming.size + this.countPlaces().inFlight > 0 });
  }

  /**
   * On a Cluster the list of senders may lie on a node that is away. Once all who are in it would be dead, each sender claims what has
   * no owner as if it were alone: a claim is one step, and devices that have an owner stay there.
   */
  private async beatInTime(): Promise<void> {
    const { clock, memberTtlMs } = this.deps;
    this.beating ??= this.beat().finally(() => {
      this.beating = undefined;
    });
    if (await inTime(this.beating, this.tickMs)) return;
    if (clock.monotonicMs() - this.beatAtMs >= memberTtlMs) this.members = [this.describeSelf()];
  }

  private async beat(): Promise<void> {
    const { store, memberTtlMs, clock } = this.deps;
    this.beatAtMs = clock.monotonicMs();
    this.members = await beatHeart(store, { self: this.describeSelf(), ttlMs: memberTtlMs });
    this.memberUntilMs = this.beatAtMs + memberTtlMs;
    const ids = new Set(this.members.map(({ id }) => id));
    for (const shard of this.linked.doubtfulShards(ids)) this.watch.look(shard);
    if (!this.hasTakers()) this.successors.look();
  }

  private describeSelf(): Member {
    const { processId, maxDevices } = this.deps;
    return { id: processId, held: this.owners.size, capacity: this.isDraining ? 0 : maxDevices };
  }

  private describeFleet(): Fleet<DeviceAddress> {
    const self = this.describeSelf();
    const members = this.members.map((member) => (member.id === self.id ? self : member));
    const orphans = this.linked.orphans().filter((address) => this.isFree(nameOfDevice(address)));
    const devices = this.linked.size;
    return { self: self.id, members: this.room.make(members, devices), orphans, devices };
  }

  /** As many at once as may open now; the others when one of these is open. */
  private claimChosen(): void {
    const { concurrency } = this.deps.openings;
    const room = this.isDraining ? 0 : concurrency - this.claiming.size - this.countStates().opening;
    for (const address of this.chosen.splice(0, Math.max(0, room))) {
      const name = nameOfDevice(address);
      const claim = this.claim(name, address)
        .catch(this.logFailure)
        .finally(() => {
          this.claiming.delete(name);
          this.claimChosen();
        });
      this.claiming.set(name, claim);
    }
  }

  private async claim(name: string, address: DeviceAddress): Promise<void> {
    const ownership = await this.deps.keeper.acquire(address);
    if (!ownership) return this.watch.lookAt(address);
    this.linked.noteOwner(address, this.deps.processId);
    const owner = new DeviceOwner(this.deps, ownership);
    this.owners.set(name, owner);
    void owner.ended.then(() => {
      this.owners.delete(name);
      // What made it fail (a key that cannot be opened, say) is still there in a millisecond.
      if (owner.failed) this.notBeforeMs.set(name, this.deps.clock.monotonicMs() + REST_AFTER_FAILURE_MS);
      else this.notBeforeMs.delete(name);
      this.watch.lookAt(address);
    });
  }

  /** @param surplus with those that are on their way already. */
  private giveBack(surplus: number): void {
    const owners = [...this.owners.values()];
    const leaving = owners.filter((owner) => owner.mustEnd()).length;
    const open = owners.filter((owner) => owner.state === 'open' && !owner.mustEnd());
    for (const owner of open.slice(0, Math.max(0, Math.min(surplus, MOST_MOVING) - leaving))) void owner.handOver();
  }

  private hasTakers(): boolean {
    return this.members.some(({ id, held, capacity }) => id !== this.deps.processId && held < mostDevices(capacity));
  }

  private isFree(name: string): boolean {
    const rests = (this.notBeforeMs.get(name) ?? 0) > this.deps.clock.monotonicMs();
    return !rests && !this.owners.has(name) && !this.claiming.has(name);
  }

  private ownerOf(address: DeviceAddress): DeviceOwner | undefined {
    return this.owners.get(nameOfDevice(address));
  }

  private readonly logFailure = (thrown: unknown): void => {
    // Each tick tries each device again.
    if (thrown instanceof MasterInDoubtError) return;
    this.deps.logger.warn('tick failed', { error: toError(thrown) });
  };
}

function jobOfCode({ workspace, device }: DeviceAddress, code: NonNullable<Doorbell['code']>): SendJob {
  return { v: 1, workspace, device, priority: 'otp', ...code };
}
