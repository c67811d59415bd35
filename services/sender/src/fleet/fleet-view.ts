import type { DeviceId, Workspace } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import { listDevices, readOwners } from '@gateway/store/devices/devices';
import type { Member } from '@gateway/store/fleet/members';

/** Nothing has called, and nobody is missing: then what was read is right, but for lost doorbells. */
const READ_ALL_AGAIN_MS = 10_000;

/**
 * Which devices are to be linked, and who holds them, as one sender knows it. Every device is read when senders come or
 * go, and now and then; between, only those that called, and those whose owner is nobody or does not live.
 */
export class FleetView {
  private readonly owners = new Map<DeviceId, string | undefined>();
  private readonly changed = new Set<DeviceId>();
  private members = '';
  private readAllAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly deps: { store: Store; workspace: Workspace; clock: Clock }) {}

  /** The next `read` looks at this device. */
  noteChange(device: DeviceId): void {
    this.changed.add(device);
  }

  /** The linked devices, each with the process that holds it. After a failure, the next one reads what this one did not. */
  async read(members: readonly Member[]): Promise<ReadonlyMap<DeviceId, string | undefined>> {
    const { store, workspace, clock } = this.deps;
    const ids = members.map(({ id }) => id);
    const isAll = ids.join(' ') !== this.members || clock.monotonicMs() - this.readAllAtMs >= READ_ALL_AGAIN_MS;
    const all = isAll ? await listDevices(store, workspace) : [];
    const devices = [...new Set([...all, ...this.doubtful(new Set(ids))])];
    const noted = [...this.changed];
    this.changed.clear();
    const found = await readOwners(store, workspace, devices).catch((thrown: unknown) => {
      for (const device of noted) this.changed.add(device);
      throw thrown;
    });
    for (const device of isAll ? [...this.owners.keys()] : devices) if (!found.has(device)) this.owners.delete(device);
    for (const [device, owner] of found) this.owners.set(device, owner);
    if (isAll) this.members = ids.join(' ');
    if (isAll) this.readAllAtMs = clock.monotonicMs();
    return this.owners;
  }

  private doubtful(members: ReadonlySet<string>): DeviceId[] {
    const doubtful = new Set(this.changed);
    for (const [device, owner] of this.owners) if (!owner || !members.has(owner)) doubtful.add(device);
    return [...doubtful];
  }
}
