import type { DesiredState } from '@gateway/contracts/devices/device-state';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { readDeviceState } from '@gateway/store/devices/device-state';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { makeNumbers } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { standIn } from '@gateway/testkit/stand-in';
import { type ConnectionProcess, startController, TestDevice, takeOut } from './test-controller.js';

/** A network for the tests of one `describe`, a device for each of them, and the controllers that they start. */
export function useControllers(series: number) {
  const parts = {} as { space: RedisSpace; simulator: Simulator; device: TestDevice };
  let running: ConnectionProcess[];
  const numbers = makeNumbers(100, series);

  before(async () => {
    const [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    Object.assign(parts, { space, simulator });
  });
  beforeEach(() => {
    running = [];
    parts.device = new TestDevice(parts.space, parts.simulator, `device-${numbers.length}`, numbers.pop()!);
  });
  afterEach(async () => {
    await Promise.all(running.map((process) => process.stop()));
    parts.simulator.network.faults.clear();
    await takeOut(parts.space.store, parts.device.address);
  });
  after(async () => {
    await parts.simulator.close();
    await parts.space.close();
  });

  async function start(
    options: Parameters<typeof startController>[2] = {},
    store = parts.space.store,
  ): Promise<ConnectionProcess> {
    const started = await startController({ ...parts.space, store }, parts.simulator, options);
    running.push(started);
    return started;
  }

  /** A newly linked device that no process has, and the controller that linked it. */
  async function linked(): Promise<ConnectionProcess> {
    const process = await start();
    await parts.device.link();
    return process;
  }

  /** What a sender did while it had the device, which no process has now. */
  async function asOwner(
    address: DeviceAddress,
    work: (ownership: Ownership, desired: DesiredState) => Promise<void>,
  ): Promise<void> {
    const { store } = parts.space;
    const ownership = (await takeDevice(store, address, { owner: 'a sender', ttlMs: 60_000 }))!;
    await work(ownership, (await readDeviceState(store, address)).desired!);
    await giveDeviceBack(store, ownership);
  }

  return {
    space: standIn(() => parts.space),
    simulator: standIn(() => parts.simulator),
    device: standIn(() => parts.device),
    ...{ start, linked, asOwner },
  };
}
