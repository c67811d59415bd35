import type { DesiredState } from '@gateway/contracts/devices/device-state';
import { type DeviceAddress, deviceOfName, nameOfDevice } from '@gateway/contracts/ids';
import type { HeldDevice, SessionKeeper } from '@gateway/fleet/session-keeper';
import { ShardWatch } from '@gateway/fleet/shard-watch';
import { FencedError, toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { contain } from '@gateway/runtime/process/contain';
import { MasterInDoubtError } from '@gateway/store/core/confirming/standing';
import { type DoorbellListener, ringDoorbell } from '@gateway/store/core/doorbells';
import { type DeviceState, readDeviceState } from '@gateway/store/devices/device-state';
import type { SeenDevice } from '@gateway/store/fleet/shards/look-at-shard';
import { completeLink } from './complete-link.js';
import { type Duty, decideDuty } from './decide-duty.js';
import type { DeviceTask, TaskDeps } from './device-task.js';
import { linkDevice } from './link-device.js';
import { unlinkDevice } from './log-out.js';

export interface ControllerDeps extends TaskDeps {
  keeper: Pick<SessionKeeper, 'acquire' | 'release'>;
  doorbells: DoorbellListener;
  tickMs: number;
  /** Default: that of `ShardWatch`. For tests. */
  roundMs?: number;
  /** How long senders have to claim a newly linked device. For tests. */
  senderWaitMs?: number;
}

interface RunningTask {
  desired: DesiredState;
  cancel: AbortController;
  done: Promise<void>;
}

type RealDuty = Exclude<Duty, { kind: 'none' }>;

const SENDER_WAIT_MS = 5_000;

/**
 * Looks at devices that need something on each tick, and at others when their shard shows that they may; does what `decideDuty` says, one task per device at a time, under the device's ownership. With several processes the
 * ownership decides which of them does it. An uncaught error ends its own task, and not the process.
 */
export class ConnectionController {
  /** By `workspace/device`, as all below. */
  private readonly tasks = new Map<string, RunningTask>();
  /** Their wanted state is not reached yet; any process may be working on it. */
  private readonly unsettled = new Set<string>();
  private readonly looks = new Map<string, Promise<void>>();
  /** Devices whose doorbell rang during a look: the change may have come after the read. */
  private readonly lookAgain = new Set<string>();
  private readonly stopListening: () => void;
  private readonly watch: ShardWatch;
  private timer: NodeJS.Timeout | undefined;
  /** How often it has looked at the devices. */
  ticks = 0;
  private stopped = false;

  constructor(private readonly deps: ControllerDeps) {
    this.stopListening = deps.doorbells.on((bell) => {
      if (bell.topic === 'desired' || bell.topic === 'owner') this.look(nameOfDevice(bell));
    });
    this.watch = new ShardWatch({ ...deps, onSeen: (devices) => this.noteSeen(devices) });
    this.tick();
  }

  /** How many tasks run, for metrics. */
  get running(): number {
    return this.tasks.size;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.stopListening();
    clearTimeout(this.timer);
    for (const { cancel } of this.tasks.values()) cancel.abort();
    await this.watch.stop();
    await Promise.all(this.looks.values());
    await Promise.all([...this.tasks.values()].map(({ done }) => done));
  }

  private tick(): void {
    this.ticks++;
    // A look that waits for its answer, as the node of its device is away, goes on by itself, and holds up no other.
    for (const name of this.unsettled) if (!this.looks.has(name)) this.look(name);
    if (!this.stopped) this.timer = setTimeout(() => this.tick(), this.deps.tickMs);
  }

  /** Catches lost doorbells. Unsettled devices are looked at on each tick. */
  private noteSeen(devices: readonly SeenDevice[]): void {
    for (const { address, want, owner } of devices) {
      const isSettled = want === 'linked' && owner !== undefined;
      const name = nameOfDevice(address);
      if (!isSettled && !this.unsettled.has(name)) this.look(name);
    }
  }

  private look(name: string): void {
    if (this.stopped) return;
    if (this.looks.has(name)) this.lookAgain.add(name);
    else this.looks.set(name, this.lookUntilQuiet(name));
  }

  private async lookUntilQuiet(name: string): Promise<void> {
    const address = deviceOfName(name);
    try {
      do {
        this.lookAgain.delete(name);
        await this.lookOnce(name, address);
      } while (this.lookAgain.has(name) && !this.stopped);
    } catch (thrown) {
      // Each tick looks again at each that needs something.
      if (thrown instanceof MasterInDoubtError) return;
      this.deps.logger.warn('look at a device failed', { ...address, error: toError(thrown) });
    } finally {
      this.looks.delete(name);
    }
  }

  private async lookOnce(name: string, address: DeviceAddress): Promise<void> {
    const state = await readDeviceState(this.deps.store, address);
    if (isSettled(state)) this.unsettled.delete(name);
    else this.unsettled.add(name);
    const task = this.tasks.get(name);
    if (task && isOutdated(task.desired, state.desired)) task.cancel.abort();
    if (!task && this.decide(state).kind !== 'none') await this.claim(address);
  }

  private decide(state: DeviceState): Duty {
    const { clock, senderWaitMs = SENDER_WAIT_MS } = this.deps;
    return decideDuty(state, { nowMs: clock.nowMs(), senderWaitMs });
  }

  private async claim(address: DeviceAddress): Promise<void> {
    const ownership = await this.deps.keeper.acquire(address);
    if (!ownership) return;
    // The owner before us may have done it since we looked: only what is read as the owner counts.
    const duty = await this.decideAnew(address).catch((thrown: unknown) => toError(thrown));
    if (duty instanceof Error || duty.kind === 'none' || this.stopped) {
      await this.deps.keeper.release(ownership);
      if (duty instanceof Error) throw duty;
    } else this.start(ownership, duty);
  }

  private async decideAnew(address: DeviceAddress): Promise<Duty> {
    const state = await readDeviceState(this.deps.store, address);
    return this.decide({ ...state, isOwned: false });
  }

  private start(ownership: HeldDevice, { kind, desired }: RealDuty): void {
    const cancel = new AbortController();
    const { store, clock, endpoint, clientVersion } = this.deps;
    const logger = this.deps.logger.child({ ...ownership.address, epoch: ownership.epoch, duty: kind });
    const signal = AbortSignal.any([cancel.signal, ownership.lost]);
    let isWhole = true;
    const onUncaught = (error: Error) => {
      isWhole = logFailure(logger, error);
      cancel.abort();
    };
    const task = { store, clock, endpoint, clientVersion, logger, ownership, desired, signal };
    const done = contain(onUncaught, () => perform(kind, task))
      .then(() => isWhole)
      .catch((thrown: unknown) => logFailure(logger, toError(thrown)))
      .then((wentWell) => this.finish(ownership, wentWell));
    this.tasks.set(nameOfDevice(ownership.address), { desired, cancel, done });
  }

  private async finish(ownership: HeldDevice, wentWell: boolean): Promise<void> {
    await this.deps.keeper.release(ownership);
    this.tasks.delete(nameOfDevice(ownership.address));
    // After a failure no doorbell rings: the next attempt, here or elsewhere, can wait for its tick.
    if (wentWell) await ringDoorbell(this.deps.store, { topic: 'owner', ...ownership.address });
  }
}

async function perform(kind: RealDuty['kind'], task: DeviceTask): Promise<void> {
  task.logger.info('task started');
  switch (kind) {
    case 'link':
      return linkDevice(task);
    case 'unlink':
      return unlinkDevice(task);
    case 'complete':
      return completeLink(task);
  }
}

function logFailure(logger: Logger, error: Error): false {
  if (error instanceof FencedError) logger.warn('ownership lost', { error });
  else logger.error('task failed', { error });
  return false;
}

/** Nothing to do until a doorbell rings: the wanted state is reached, or is up to its owner or the senders. */
function isSettled({ desired, observed, isOwned, hasKeys }: DeviceState): boolean {
  if (desired?.want === 'linked') return isOwned || observed?.firstLogin !== 'due';
  if (desired?.want === 'parked') return !isOwned;
  return !desired || (desired.want === 'unlinked' && !isOwned && !hasKeys && observed?.attemptId === desired.attemptId);
}

function isOutdated(actedOn: DesiredState, desired: DesiredState | undefined): boolean {
  return desired?.attemptId !== actedOn.attemptId || desired?.want !== actedOn.want;
}
