import { drainDevices } from '@gateway/fleet/drain';
import { systemClock } from '@gateway/runtime/clock';
import { type Deferred, defer } from '@gateway/runtime/deferred';
import { expect } from 'chai';

const devices = Array.from({ length: 20 }, (_, i) => i);
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a process that ends', () => {
  let nowMs: number;
  let released: number[];
  let connected: Map<number, Deferred<void>>;
  let takers: boolean;
  let waitedMs: number[];

  beforeEach(() => {
    [nowMs, released, connected, takers, waitedMs] = [0, [], new Map(), true, []];
  });

  const drain = (all = devices) =>
    drainDevices(all, {
      clock: { nowMs: Date.now, monotonicMs: () => nowMs },
      release: async (device) => released.push(device),
      untilConnected: (device, ms) => {
        waitedMs.push(ms);
        connected.set(device, defer());
        return connected.get(device)!.promise;
      },
      hasTakers: () => takers,
    });

  it('gives up four devices at a time, the next when another process has connected one of them', async () => {
    const drained = drain();
    await turn();
    expect(released).to.deep.equal([0, 1, 2, 3]);
    connected.get(2)!.resolve();
    await turn();
    expect(released).to.deep.equal([0, 1, 2, 3, 4]);
    for (let i = 0; i < devices.length; i++) {
      for (const { resolve } of connected.values()) resolve();
      await turn();
    }
    await drained;
    expect(released).to.deep.equal(devices);
  });

  it('waits eight seconds for one at most', async () => {
    void drain();
    await turn();
    expect(waitedMs).to.deep.equal([8_000, 8_000, 8_000, 8_000]);
  });

  it('gives up a 40th of many at a time: a thousand in as many rounds', async () => {
    void drain(Array.from({ length: 1_000 }, (_, i) => i));
    await turn();
    expect(released).to.have.length(25);
  });

  it('gives all up at once where there is no other', async () => {
    takers = false;
    await drain();
    expect(released).to.deep.equal(devices);
    expect(waitedMs).to.deep.equal([]);
  });

  it('gives the others up at once when it has waited for 70 s in all', async () => {
    const drained = drain();
    await turn();
    nowMs = 70_000;
    for (const { resolve } of connected.values()) resolve();
    await drained;
    expect(released).to.have.members(devices);
    expect(waitedMs).to.have.length(4);
  });

  it('does not wait for a device whose node answers nothing', async () => {
    const never = () => new Promise<never>(() => {});
    const given: number[] = [];
    await drainDevices([0, 1, 2, 3, 4, 5], {
      ...{ clock: systemClock, hasTakers: () => true, connectedMs: 10, releasedMs: 10 },
      untilConnected: never,
      release: (device) => {
        given.push(device);
        return never();
      },
    });
    expect(given).to.deep.equal([0, 1, 2, 3, 4, 5]);
  });
});
