import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { endSessionOf } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'default' };

describe('a device whose owners fail one after the other', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    gateway = await Gateway.start({ space, simulator, env: { SESSION_TTL_MS: '1000' } });
    await gateway.link('491700000001');
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  it('is held without a socket for a while, says so, and can be disconnected meanwhile', async () => {
    const keys = deviceKeys(space.store.space, address);
    await space.store.redis.sadd(keys.starts, ...Array.from({ length: 20 }, (_, i) => `ended:${i}`));
    // As when its process dies: the owner is fenced, and the next one begins.
    const token = (await space.store.redis.get(keys.owner))!;
    await endSessionOf(space.store, { address, token });
    const { notBeforeMs } = await eventually(async () => {
      const { observed } = await readDeviceState(space.store, address);
      return observed?.reason === 'owner_failing' && observed;
    });
    expect(notBeforeMs! - Date.now()).to.be.within(10_000, 120_000);
    const { body } = await gateway.call('GET', '/status');
    expect(body).to.include({ status: 'connecting', reason: 'owner_failing' });
    expect(await gateway.senders[0]!.metrics()).to.match(/gateway_owned_devices\{phase="backing_off"\} 1/);
    expect((await gateway.call('POST', '/disconnect')).status).to.equal(200);
    await gateway.waitForStatus('disconnected');
  });
});
