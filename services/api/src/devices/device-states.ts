import { type DeviceAddress, nameOfDevice } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import { type DeviceState, readDeviceState } from '@gateway/store/devices/device-state';

/**
 * The states of devices, for requests. Those of one turn of the event loop that are about the same device share one
 * read: it leaves after all of them have come, so none gets a state older than its question.
 */
export class DeviceStates {
  private readonly ofThisTurn = new Map<string, Promise<DeviceState>>();

  constructor(private readonly store: Store) {}

  /** Read-only: it may be shared with other requests. */
  read(address: DeviceAddress): Promise<Readonly<DeviceState>> {
    const name = nameOfDevice(address);
    const shared = this.ofThisTurn.get(name);
    if (shared) return shared;
    if (this.ofThisTurn.size === 0) setImmediate(() => this.ofThisTurn.clear());
    const state = readDeviceState(this.store, address);
    this.ofThisTurn.set(name, state);
    return state;
  }
}
