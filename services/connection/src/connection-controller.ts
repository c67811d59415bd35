import type { DesiredState } from '@gateway/contracts/device-state';
import type { DeviceId, Workspace } from '@gateway/contracts/ids';
import { toError } from '@gateway/runtime/errors';
import { readDeviceState } from '@gateway/store/device-state';
import { listDevices } from '@gateway/store/devices';
import { type DoorbellListener, ringDoorbell } from '@gateway/store/doorbells';
import type { LeaseKeeper } from '@gateway/store/lease-keeper';
import { type Duty, decideDuty } from './decide-duty.js';
import type { TaskDeps } from './device-task.js';
import { holdDevice } from './hold-device.js';
import { linkDevice } from './link-device.js';
import { unlinkDevice } from './log-out.js';

export interface ControllerDeps extends TaskDeps {
  keeper: LeaseKeeper;
  doorbells: DoorbellListener;
  workspace: Workspace;
  tickMs: number;
  /** How long senders have to claim a linked device. */
  holdAfterMs: number;
}

interface RunningTask {
  desired: DesiredState;
  cancel: AbortController;
  done: Promise<void>;
}

/**
 * Looks at every device on each tick, and at one device on its doorbell; does what `decideDuty` says, one task per
 * device at a time, under the device's lease. With several processes the lease decides which of them does it.
 */
export class ConnectionController {
  private readonly tasks = new Map<DeviceId, RunningTask>();
  /** Since when a device has been seen linked and without an owner, by the monotonic clock. */
  private readonly unheldSinceMs = new Map<DeviceId, number>();
  private readonly looking = new Set<DeviceId>();
  private readonly stopListening: () => void;
  private readonly timer: NodeJS.Timeout;
  private stopped = false;

  constructor(private readonly deps: ControllerDeps) {
    this.stopListening = deps.doorbells.on((bell) => {
      const concernsUs = bell.topic === 'desired' || bell.topic === 'lease';
      if (concernsUs && bell.workspace === deps.workspace) void this.look(bell.device);
    });
    this.timer = setInterval(() => void this.lookAtAll(), deps.tickMs);
    void this.lookAtAll();
  }

  /** How many tasks run, for metrics. */
  get running(): number {
    return this.tasks.size;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.stopListening();
    clearInterval(this.timer);
    for (const { cancel } of this.tasks.values()) cancel.abort();
    await Promise.all([...this.tasks.values()].map(({ done }) => done));
  }

  private async lookAtAll(): Promise<void> {
    try {
      const devices = await listDevices(this.deps.store, this.deps.workspace);
      await Promise.all(devices.map((device) => this.look(device)));
    } catch (thrown) {
      this.deps.logger.warn('tick failed', { error: toError(thrown) });
    }
  }

  private async look(device: DeviceId): Promise<void> {
    // A look that comes during another one is lost: the next tick makes up for it.
    if (this.stopped || this.looking.has(device)) return;
    this.looking.add(device);
    try {
      const state = await readDeviceState(this.deps.store, this.address(device));
      const task = this.tasks.get(device);
      if (task && isOutdated(task.desired, state.desired)) task.cancel.abort();
      const unheldForMs = this.countUnheld(device, state.desired?.want === 'linked' && !state.leaseHeld);
      const duty = decideDuty(state, { unheldForMs, holdAfterMs: this.deps.holdAfterMs });
      if (!task && duty.kind !== 'none') await this.start(device, duty);
    } catch (thrown) {
      this.deps.logger.warn('look at a device failed', { device, error: toError(thrown) });
    } finally {
      this.looking.delete(device);
    }
  }

  private countUnheld(device: DeviceId, unheld: boolean): number {
    if (!unheld) this.unheldSinceMs.delete(device);
    else if (!this.unheldSinceMs.has(device)) this.unheldSinceMs.set(device, this.deps.clock.monotonicMs());
    return this.deps.clock.monotonicMs() - (this.unheldSinceMs.get(device) ?? Number.POSITIVE_INFINITY);
  }

  private async start(device: DeviceId, duty: Exclude<Duty, { kind: 'none' }>): Promise<void> {
    const lease = await this.deps.keeper.acquire(this.address(device));
    if (!lease || this.stopped) return;
    const { desired } = duty;
    const cancel = new AbortController();
    const signal = AbortSignal.any([cancel.signal, lease.lost]);
    const logger = this.deps.logger.child({ device, epoch: lease.epoch, duty: duty.kind });
    const task = { ...this.deps, logger, lease, desired, signal };
    const done = this.perform(duty.kind, task)
      .catch((thrown: unknown) => logger.error('task failed', { error: toError(thrown) }))
      .then(() => this.finish(device, task));
    this.tasks.set(device, { desired, cancel, done });
  }

  private async perform(kind: Exclude<Duty['kind'], 'none'>, task: Parameters<typeof holdDevice>[0]): Promise<void> {
    task.logger.info('task started');
    switch (kind) {
      case 'link':
        return linkDevice(task);
      case 'unlink':
        return unlinkDevice(task);
      case 'hold':
        return holdDevice(task);
    }
  }

  private async finish(device: DeviceId, { lease }: Parameters<typeof holdDevice>[0]): Promise<void> {
    await this.deps.keeper.release(lease);
    this.tasks.delete(device);
    this.unheldSinceMs.delete(device);
    await ringDoorbell(this.deps.store, { topic: 'lease', ...lease.address });
  }

  private address(device: DeviceId) {
    return { workspace: this.deps.workspace, device };
  }
}

function isOutdated(actedOn: DesiredState, desired: DesiredState | undefined): boolean {
  return desired?.attemptId !== actedOn.attemptId || desired?.want !== actedOn.want;
}
