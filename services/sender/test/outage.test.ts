import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import PQueue from 'p-queue';

const DEVICES = Array.from({ length: 30 }, (_, i) => `device-${i}`);
const MAX_OPENINGS = 8;

describe('an outage of the network for all devices of a sender', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    gateway = await Gateway.start({ space, simulator, env: { SESSION_TTL_MS: '2000' } });
    const linking = new PQueue({ concurrency: 4 });
    await linking.addAll(DEVICES.map((device, i) => () => gateway.link(String(491_700_002_000 + i), device)));
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  it('spreads the openings, and loses no ownership', async () => {
    const { counters, faults } = simulator.network;
    faults.add({ on: 'login', do: { delayMs: 150 } });
    const before = { ...counters };
    simulator.restartSockets();
    let most = 0;
    await eventually(
      () => {
        const opening = counters.connections - before.connections - (counters.logins - before.logins);
        most = Math.max(most, opening);
        return counters.logins - before.logins === DEVICES.length;
      },
      { everyMs: 5, what: 'every device is logged in again' },
    );
    expect(most, 'at a time').to.be.within(2, MAX_OPENINGS);
    await eventually(() => allAre('connected'), { what: 'every device is connected' });
    const losses = gateway.logs().filter(({ message }) => message === 'session ended' || message === 'ownership lost');
    expect(losses).to.deep.equal([]);
  });

  async function allAre(status: string): Promise<boolean> {
    const states = await Promise.all(
      DEVICES.map((device) => readDeviceState(space.store, { workspace: 'main', device })),
    );
    return states.every(({ observed }) => observed?.status === status);
  }
});
