import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const [SICK, WELL] = ['491700000001', '491700000002'];
const POISON = new URL('../../sender/test/fixtures/poison.js', import.meta.url).href;

describe('an uncaught error of a device that the connection service has logged in', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  const [writer] = makeNumbers(1, 3) as [string];

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    const users = `${writer},${simulator.network.directory.assignedLid(writer)}`;
    const poison = `--import ${POISON}?how=throw&users=${users}`;
    const env = { SESSION_TTL_MS: '1000', NODE_OPTIONS: poison };
    gateway = await Gateway.start({ space, simulator, env });
    await gateway.link(SICK!, 'sick');
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  it('ends what is done for that device, and nothing else', async () => {
    const [sender] = gateway.senders;
    const [connection] = gateway.connections;
    const { body } = await gateway.call('POST', '/connect?rawQrCode=true', { device: 'well' });
    await sender!.stop();
    const epoch = () =>
      space.store.redis.get(deviceKeys(space.store.space, { workspace: 'main', device: 'well' }).epoch);
    const before = await epoch();
    await fetch(`${simulator.adminUrl}/admin/phones/${writer}/messages`, {
      method: 'POST',
      body: JSON.stringify({ to: SICK, text: 'hello' }),
    });
    // It logs in to log out, and what waits for the device comes with that.
    const disconnecting = gateway.call('POST', '/disconnect', { device: 'sick' });
    const line = await connection!.waitForLog(({ message }) => message === 'task failed');
    expect(line).to.include({ device: 'sick', duty: 'unlink' });
    expect((await disconnecting).body.success).to.equal(true);
    expect(connection!.isRunning).to.equal(true);
    expect(await epoch(), 'the link goes on').to.equal(before);
    await gateway.addSender();
    await gateway.scan(WELL!, body.qrCode, 'well');
    await gateway.waitForStatus('connected', 'well');
  });
});
