import { type DeviceAddress, nameOfDevice } from '@gateway/contracts/ids';
import { chooseOrphans, countSurplus, type Fleet } from '@gateway/fleet/assignment';
import { drainDevices } from '@gateway/fleet/drain';
import { LinkedDevices } from '@gateway/fleet/linked-devices';
import { countPlaces, makeRoom } from '@gateway/fleet/make-room';
import { ShardWatch } from '@gateway/fleet/shard-watch';
import { StableMembership } from '@gateway/fleet/stable-membership';
import { sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { DoorbellListener } from '@gateway/store/core/doorbells';
import { beatHeart, leaveMembers, type Member, mostDevices } from '@gateway/store/fleet/members';
import type { ProcessDeps } from '../deps.js';
import { DeviceOwner, type OwnerState } from '../device/device-owner.js';
import { WakeUp } from '../scheduling/wake-up.js';

export interface PoolDeps extends ProcessDeps {
  /** Of this process, in sessions and in the member set. */
  processId: string;
  doorbells: DoorbellListener;
  maxDevices: number;
  /** A sender that is silent for this long gets no devices. */
  memberTtlMs: number;
  /** Default 1 s. For tests. */
  tickMs?: number;
}

export const TICK_MS = 1_000;
const REST_AFTER_FAILURE_MS = 5_000;
/** Devices that move for balance alone, per tick. */
const MOVES_PER_TICK = 2;
const LOOK_FOR_TAKER_MS = 100;

/**
 * The devices of one sender process. On every tick, and when it sees devices without an owner, it claims its part of them;
 * what has an owner stays there. Devices move for balance only from a sender that has far more than its share. A sender
 * that ends says first that it takes no more, and gives its devices up as fast as others open them.
 */
export class SenderPool {
  /** By `workspace/device`, as all below. */
  private readonly owners = new Map<string, DeviceOwner>();
  private readonly tickMs: number;
  private readonly wakeUp = new WakeUp();
  private readonly membership: StableMembership;
  private readonly linked: LinkedDevices;
  private readonly watch: ShardWatch;
  private members: readonly Member[] = [];
  private beatAtMs = Number.NEGATIVE_INFINITY;
  /** To be claimed here, as soon as they may open. */
  private chosen: DeviceAddress[] = [];
  private readonly stopListening: () => void;
  /** When devices whose owner has failed may be claimed again, by the monotonic clock. */
  private readonly notBeforeMs = new Map<string, number>();
  /** There are more devices than all senders together may hold. */
  private isFull = false;
  private isDraining = false;
  private stopped = false;
  private readonly loop: Promise<void>;

  constructor(private readonly deps: PoolDeps) {
    this.tickMs = deps.tickMs ?? TICK_MS;
    this.membership = new StableMembership(deps.clock.monotonicMs);
    this.linked = new LinkedDevices(deps.clock);
    this.stopListening = deps.doorbells.on((bell) => {
      // What owners say themselves is not news to them.
      if (bell.topic === 'sends' || bell.topic === 'desired') this.ownerOf(bell)?.look();
      if (bell.topic === 'questions') this.ownerOf(bell)?.answerQuestions();
    });
    this.watch = new ShardWatch({
      ...deps,
      onSeen: (...seen) => {
        if (this.linked.keep(...seen)) this.wakeUp.ring();
      },
    });
    deps.openings.on('next', () => void this.claimChosen().catch(this.logFailure));
    this.loop = this.run();
  }

  /** How many devices are in which state, for metrics. */
  countStates(): Record<OwnerState, number> {
    const counts = { backingOff: 0, opening: 0, open: 0, waiting: 0, ended: 0 };
    for (const { state } of this.owners.values()) counts[state]++;
    return counts;
  }

  /** Hands every device over, at the pace of those that take them. */
  async stop(): Promise<void> {
    const { store, processId, clock } = this.deps;
    this.isDraining = true;
    await this.beat().catch(this.logFailure);
    await drainDevices(this.owners.values(), {
      clock,
      release: (owner) => owner.handOver(),
      untilTaken: ({ address }, ms) => this.untilTaken(address, ms),
      hasTakers: () => this.hasTakers(),
    });
    this.stopped = true;
    this.stopListening();
    this.wakeUp.ring();
    await leaveMembers(store, processId).catch(() => undefined);
    await Promise.all([this.loop, this.watch.stop()]);
    // One may have been claimed in the moment in which the end began.
    await Promise.all([...this.owners.values()].map((owner) => owner.handOver()));
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
    if (isBeat) await this.beat();
    if (this.isDraining) return;
    const fleet = this.describeFleet();
    this.chosen = chooseOrphans(fleet, (device) => this.linked.isLate(device));
    await this.claimChosen();
    if (isBeat && this.membership.isStable(this.members)) this.giveBack(countSurplus(fleet));
  }

  private async beat(): Promise<void> {
    const { store, memberTtlMs, clock } = this.deps;
    this.beatAtMs = clock.monotonicMs();
    this.members = await beatHeart(store, { self: this.describeSelf(), ttlMs: memberTtlMs });
    const ids = new Set(this.members.map(({ id }) => id));
    for (const shard of this.linked.doubtfulShards(ids)) this.watch.look(shard);
  }

  private describeSelf(): Member {
    const { processId, maxDevices } = this.deps;
    return { id: processId, held: this.owners.size, capacity: this.isDraining ? 0 : maxDevices };
  }

  private describeFleet(): Fleet<DeviceAddress> {
    const self = this.describeSelf();
    const members = this.members.map((member) => (member.id === self.id ? self : member));
    const orphans = this.linked.orphans().filter((device) => !this.ownerOf(device) && !this.rests(device));
    const devices = this.linked.size;
    this.noteRoom(devices, countPlaces(members));
    return { self: self.id, members: makeRoom(members, devices), orphans, devices };
  }

  private noteRoom(devices: number, places: number): void {
    const isFull = devices > places;
    const line = 'all senders are full: each takes up to a tenth more devices than MAX_DEVICES';
    if (isFull && !this.isFull) this.deps.logger.warn(line, { devices, places });
    this.isFull = isFull;
  }

  /** As many as may open now; the others when one of these is open. */
  private async claimChosen(): Promise<void> {
    while (!this.isDraining && this.countStates().opening < this.deps.openings.concurrency) {
      const device = this.chosen.shift();
      if (device === undefined) return;
      if (!this.ownerOf(device)) await this.claim(device);
    }
  }

  private async claim(address: DeviceAddress): Promise<void> {
    const name = nameOfDevice(address);
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

  private giveBack(count: number): void {
    const open = [...this.owners.values()].filter(({ state }) => state === 'open');
    for (const owner of open.slice(0, Math.min(count, MOVES_PER_TICK))) void owner.handOver();
  }

  private async untilTaken(address: DeviceAddress, ms: number): Promise<void> {
    const { clock, processId } = this.deps;
    const untilMs = clock.monotonicMs() + ms;
    while (clock.monotonicMs() < untilMs && this.hasTakers()) {
      const owner = this.linked.ownerOf(address);
      if (owner !== undefined && owner !== processId) return;
      await sleep(LOOK_FOR_TAKER_MS);
      this.watch.lookAt(address);
    }
  }

  private hasTakers(): boolean {
    return this.members.some(({ id, held, capacity }) => id !== this.deps.processId && held < mostDevices(capacity));
  }

  private rests(address: DeviceAddress): boolean {
    return (this.notBeforeMs.get(nameOfDevice(address)) ?? 0) > this.deps.clock.monotonicMs();
  }

  private ownerOf(address: DeviceAddress): DeviceOwner | undefined {
    return this.owners.get(nameOfDevice(address));
  }

  private readonly logFailure = (thrown: unknown): void => {
    this.deps.logger.warn('tick failed', { error: toError(thrown) });
  };
}
