import { type DeviceAddress, nameOfDevice } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import type { DoorbellListener } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { WakeUp } from '../scheduling/wake-up.js';

export interface SuccessorDeps {
  store: Store;
  clock: Clock;
  doorbells: DoorbellListener;
  /** Whether there are processes that can take devices. */
  exist(): boolean;
}

/** A doorbell comes first; this is for lost ones. */
const LOOK_MS = 1_000;

/** Sees devices that this process gives up connected again by others. */
export class Successors {
  /** By `workspace/device`. */
  private readonly awaited = new Map<string, WakeUp>();
  private readonly stopListening: () => void;

  constructor(private readonly deps: SuccessorDeps) {
    this.stopListening = deps.doorbells.on((bell) => {
      if (bell.topic === 'observed') this.awaited.get(nameOfDevice(bell))?.ring();
    });
  }

  /**
   * Resolves when another process has connected a device that is connected here when this is called, after `ms`, or when
   * there is none any more. Never rejects.
   */
  async untilConnected(address: DeviceAddress, ms: number): Promise<void> {
    const { clock } = this.deps;
    const name = nameOfDevice(address);
    const untilMs = clock.monotonicMs() + ms;
    const bell = new WakeUp();
    this.awaited.set(name, bell);
    const before = await this.connectedSince(address);
    for (let since = before; since === before || since === undefined; since = await this.connectedSince(address)) {
      const leftMs = untilMs - clock.monotonicMs();
      if (leftMs <= 0 || !this.deps.exist()) break;
      await bell.wait(Math.min(leftMs, LOOK_MS));
    }
    this.awaited.delete(name);
  }

  /** Others came or went. */
  look(): void {
    for (const bell of this.awaited.values()) bell.ring();
  }

  stop(): void {
    this.stopListening();
  }

  /** `undefined`: it is not, or Redis does not say. */
  private async connectedSince(address: DeviceAddress): Promise<number | undefined> {
    const state = await readDeviceState(this.deps.store, address).catch(() => undefined);
    return state?.isOwned && state.observed?.status === 'connected' ? state.observed.sinceMs : undefined;
  }
}
