import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { readStarts } from '@gateway/store/fleet/count-starts';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const [SICK, WELL] = ['491700000001', '491700000002'];
const POISON = new URL('../../sender/test/fixtures/poison.js', import.meta.url).href;

describe('an uncaught error of a device that the connection service holds', function () {
  this.timeout(40_000);
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  const [writer] = makeNumbers(1, 3) as [string];

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    const users = `${writer},${simulator.network.directory.assignedLid(writer)}`;
    const poison = `--import ${POISON}?how=throw&users=${users}`;
    const env = { LEASE_TTL_MS: '1000', HOLD_AFTER_MS: '300', NODE_OPTIONS: poison };
    gateway = await Gateway.start({ space, simulator, env });
    await Promise.all([gateway.link(SICK!, 'sick'), gateway.link(WELL!, 'well')]);
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  it('ends what is done for that device, and nothing else', async () => {
    const [sender] = gateway.senders;
    const [connection] = gateway.connections;
    await sender!.stop();
    const isHeld = async (device: string) => (await gateway.findOwner(device)) === connection;
    for (const device of ['sick', 'well']) {
      await eventually(() => isHeld(device), { timeoutMs: 10_000, what: `${device} held` });
      await gateway.waitForStatus('connected', device);
    }
    const epoch = () =>
      space.store.redis.get(deviceKeys(space.store.space, { workspace: 'main', device: 'well' }).epoch);
    const before = await epoch();
    const message = { to: SICK, text: 'hello' };
    await fetch(`${simulator.adminUrl}/admin/phones/${writer}/messages`, {
      method: 'POST',
      body: JSON.stringify(message),
    });
    const line = await connection!.waitForLog(({ message }) => message === 'task failed');
    expect(line).to.include({ device: 'sick', duty: 'hold' });
    await eventually(async () => !(await isHeld('sick')), { what: 'the end of its socket' });
    const starts = () => readStarts(space.store, { workspace: 'main', device: 'sick' });
    await eventually(async () => (await starts()) >= 2, { timeoutMs: 10_000, what: 'that its failures are counted' });
    expect(connection!.isRunning).to.equal(true);
    expect(await isHeld('well')).to.equal(true);
    expect(await epoch()).to.equal(before);
  });
});
