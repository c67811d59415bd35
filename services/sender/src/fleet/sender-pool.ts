import type { DeviceAddress, DeviceId, Workspace } from '@gateway/contracts/ids';
import { toError } from '@gateway/runtime/errors';
import type { DoorbellListener } from '@gateway/store/core/doorbells';
import { beatHeart, leaveMembers, type Member } from '@gateway/store/fleet/members';
import type { ProcessDeps } from '../deps.js';
import { DeviceOwner, type OwnerState } from '../device/device-owner.js';
import { WakeUp } from '../scheduling/wake-up.js';
import { assignDevices } from './assign-devices.js';
import { FleetView } from './fleet-view.js';
import { makeRoom } from './over-capacity.js';
import { StableMembership } from './stable-membership.js';

export interface PoolDeps extends ProcessDeps {
  workspace: Workspace;
  /** Of this process, in leases and in the member set. */
  processId: string;
  doorbells: DoorbellListener;
  maxDevices: number;
  /** A sender that is silent for this long gets no devices. */
  memberTtlMs: number;
}

export const TICK_MS = 1_000;
const REST_AFTER_FAILURE_MS = 5_000;
/** Devices that move for balance alone, per tick. */
const MOVES_PER_TICK = 2;

/**
 * The devices of one sender process. On every tick, and when a doorbell says that something changed, it works out which
 * devices should be here, claims those without an owner, and gives back those that should be elsewhere.
 */
export class SenderPool {
  private readonly owners = new Map<DeviceId, DeviceOwner>();
  private readonly wakeUp = new WakeUp();
  private readonly membership: StableMembership;
  private readonly fleet: FleetView;
  /** To be held here, and without an owner. */
  private orphans: DeviceAddress[] = [];
  private readonly stopListening: () => void;
  private assigned = { basis: '', assignment: new Map<DeviceId, string>() };
  /** When devices whose owner has failed may be claimed again, by the monotonic clock. */
  private readonly notBeforeMs = new Map<DeviceId, number>();
  private stopped = false;
  private readonly loop: Promise<void>;

  constructor(private readonly deps: PoolDeps) {
    this.membership = new StableMembership(deps.clock.monotonicMs);
    this.fleet = new FleetView(deps);
    this.stopListening = deps.doorbells.on((bell) => {
      if (bell.workspace !== deps.workspace) return;
      // What owners say themselves is not news to them.
      if (bell.topic === 'sends' || bell.topic === 'desired') this.owners.get(bell.device)?.look();
      if (bell.topic === 'questions') this.owners.get(bell.device)?.answerQuestions();
      if (bell.topic !== 'lease' && bell.topic !== 'desired') return;
      this.fleet.noteChange(bell.device);
      this.wakeUp.ring();
    });
    deps.openings.on('next', () => void this.claimOrphans().catch(this.logFailure));
    this.loop = this.run();
  }

  /** How many devices are in which state, for metrics. */
  countStates(): Record<OwnerState, number> {
    const counts = { backingOff: 0, opening: 0, open: 0, waiting: 0, ended: 0 };
    for (const { state } of this.owners.values()) counts[state]++;
    return counts;
  }

  /** Leaves the member set first, so that no one waits for us, then hands every device over. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.stopListening();
    this.wakeUp.ring();
    const { store, workspace, processId } = this.deps;
    await leaveMembers(store, workspace, 'sender', processId).catch(() => undefined);
    await this.loop;
    await Promise.all([...this.owners.values()].map((owner) => owner.handOver()));
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      try {
        await this.tick();
      } catch (thrown) {
        this.logFailure(thrown);
      }
      await this.wakeUp.wait(TICK_MS);
    }
  }

  private async tick(): Promise<void> {
    const { store, workspace, processId, maxDevices } = this.deps;
    const self: Member = { id: processId, held: this.owners.size, capacity: maxDevices };
    const members = await beatHeart(store, workspace, 'sender', { self, ttlMs: this.deps.memberTtlMs });
    const linked = await this.fleet.read(members);
    const assignment = this.assign([...linked.keys()], members);
    const isOurs = (device: DeviceId) => assignment.get(device) === processId;
    this.orphans = [...linked]
      .filter(([device, owner]) => !owner && isOurs(device))
      .map(([device]) => ({ workspace, device }));
    await this.claimOrphans();
    if (this.membership.isStable(members)) this.giveBack([...linked.keys()].filter((device) => !isOurs(device)));
  }

  /** Worked out anew only when senders or devices have changed: it hashes each device with each sender. */
  private assign(devices: readonly DeviceId[], members: readonly Member[]): Map<DeviceId, string> {
    const basis = JSON.stringify([devices, members.map(({ id, capacity }) => [id, capacity])]);
    if (basis !== this.assigned.basis)
      this.assigned = {
        basis,
        assignment: assignDevices(devices, makeRoom(devices.length, members, this.deps.logger)),
      };
    return this.assigned.assignment;
  }

  /** As many as may open now; the others when one of these is open. */
  private async claimOrphans(): Promise<void> {
    const { openings, clock } = this.deps;
    while (!this.stopped && this.countStates().opening < openings.concurrency) {
      const address = this.orphans.shift();
      if (!address) return;
      const rests = (this.notBeforeMs.get(address.device) ?? 0) > clock.monotonicMs();
      if (!rests && !this.owners.has(address.device)) await this.claim(address);
    }
  }

  private async claim(address: DeviceAddress): Promise<void> {
    const lease = await this.deps.keeper.acquire(address);
    if (!lease) return;
    const owner = new DeviceOwner(this.deps, lease);
    this.owners.set(address.device, owner);
    void owner.ended.then(() => {
      this.owners.delete(address.device);
      // What made it fail (a key that cannot be opened, say) is still there in a millisecond.
      if (owner.failed) this.notBeforeMs.set(address.device, this.deps.clock.monotonicMs() + REST_AFTER_FAILURE_MS);
      else this.notBeforeMs.delete(address.device);
      this.wakeUp.ring();
    });
  }

  private giveBack(elsewhere: readonly DeviceId[]): void {
    const moving = elsewhere.filter((device) => this.owners.get(device)?.state === 'open').slice(0, MOVES_PER_TICK);
    for (const device of moving) void this.owners.get(device)?.handOver();
  }

  private readonly logFailure = (thrown: unknown): void => {
    this.deps.logger.warn('tick failed', { error: toError(thrown) });
  };
}
