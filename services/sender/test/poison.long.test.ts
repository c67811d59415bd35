import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { LASTED_MS } from '@gateway/store/fleet/starts/start-pause';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import type { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const [SICK, WELL] = ['491700000001', '491700000002'];
const POISON = new URL('fixtures/poison.js', import.meta.url).href;

describe('a message that ends whatever sends it', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  const people = makeNumbers(12);
  const [poisoned] = people.splice(4, 1) as [string];
  const everybody = [...people.slice(0, 4), poisoned, ...people.slice(4)];

  async function start(how: 'kill' | 'throw', senders: number, poisonous = [poisoned]): Promise<void> {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    const users = poisonous.flatMap((number) => [number, simulator.network.directory.assignedLid(number)]);
    const env = { SESSION_TTL_MS: '1000', NODE_OPTIONS: `--import ${POISON}?how=${how}&users=${users}` };
    gateway = await Gateway.start({ space, simulator, senders, env });
    await Promise.all([gateway.link(SICK!, 'sick'), gateway.link(WELL!, 'well')]);
  }
  afterEach(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  /** As a supervisor does. Counts deaths, and of these the early ones, of those that had not lasted: one that has tries again what ended the others. */
  function restartTheDead() {
    const starts: Promise<unknown>[] = [];
    const dead = new Set<ServiceProcess>();
    /** Of those that were started here. */
    const readyMs = new Map<ServiceProcess, number>();
    const beganMs = performance.now();
    let early = 0;
    const restart = async () => {
      const sender = await gateway.addSender();
      readyMs.set(sender, performance.now());
    };
    const timer = setInterval(() => {
      for (const sender of gateway.senders) {
        if (sender.isRunning || dead.has(sender)) continue;
        dead.add(sender);
        if (performance.now() - (readyMs.get(sender) ?? beganMs) < LASTED_MS) early++;
        starts.push(restart().catch(() => {}));
      }
    }, 100);
    const stop = async () => {
      clearInterval(timer);
      await Promise.all(starts);
      return { early };
    };
    return { stop, deaths: () => dead.size };
  }

  async function send(device: string, to: string[]): Promise<string> {
    const { status, body } = await gateway.call('POST', '/send', { device, body: { to, text: 'hello' } });
    expect(status, JSON.stringify(body)).to.equal(202);
    return body.messageId;
  }
  async function expectShownOnce(account: string, to: string[]): Promise<void> {
    const shown = await readDeliveries(simulator, account);
    expect(shown.map((message) => message.to).sort()).to.deep.equal([...to].sort());
    expect(shown.every((message) => message.shown === 1)).to.equal(true);
  }

  /** All others may have theirs after a single death: it is tried again then, too. */
  const goesOnKilling = ({ deaths }: ReturnType<typeof restartTheDead>) =>
    eventually(() => deaths() >= 3, { what: 'three deaths' });

  it('does not keep the others of its list from theirs, nor other devices, when it kills each process', async () => {
    await start('kill', 2);
    const dead = restartTheDead();
    const [list, beside] = await Promise.all([send('sick', everybody), send('well', people)]);
    await gateway.waitForSend(list, { queued: 1, read: 11 }, { device: 'sick' });
    await gateway.waitForSend(beside, { read: 11 }, { device: 'well' });
    await goesOnKilling(dead);
    const { early } = await dead.stop();
    await expectShownOnce(SICK!, people);
    await expectShownOnce(WELL!, people);
    expect(early).to.be.at.most(6);
    await gateway.call('DELETE', `/messages/${list}`, { device: 'sick' });
  });

  it('keeps no other list of its device, nor codes, although it kills for each of its recipients', async () => {
    const [sick, well] = [makeNumbers(20, 5), makeNumbers(40, 6)];
    await start('kill', 2, sick);
    const dead = restartTheDead();
    const poison = await send('sick', sick);
    const list = await send('sick', well);
    await gateway.waitForSend(list, { read: 40 }, { device: 'sick' });
    const otp = await gateway.call('POST', '/otp', { device: 'sick', body: { phone: people[0], code: '123456' } });
    expect(otp.status).to.be.oneOf([200, 202]);
    await gateway.waitForSend(otp.body.data.messageId, { read: 1 }, { device: 'sick' });
    await goesOnKilling(dead);
    const { early } = await dead.stop();
    await expectShownOnce(SICK!, [...well, people[0]!]);
    expect(early).to.be.at.most(5);
    await gateway.call('DELETE', `/messages/${poison}`, { device: 'sick' });
  });

  it('ends only its own device where it throws and nothing catches it', async () => {
    await start('throw', 1);
    const [sender] = gateway.senders;
    const epoch = () =>
      space.store.redis.get(deviceKeys(space.store.space, { workspace: 'main', device: 'well' }).epoch);
    const before = await epoch();
    const list = await send('sick', everybody);
    const said = () => gateway.logs().find(({ message }) => message === 'owner failed, device released');
    const line = await eventually(said, { what: 'the end of its owner' });
    expect(line).to.include({ device: 'sick' });
    const beside = await send('well', people);
    await gateway.waitForSend(beside, { read: 11 }, { device: 'well' });
    await expectShownOnce(WELL!, people);
    expect(sender!.isRunning).to.equal(true);
    expect(await epoch(), 'it was not even given back').to.equal(before);
    expect(await sender!.metrics()).to.match(/gateway_contained_errors_total [1-9]/);
    await gateway.waitForSend(list, { queued: 1, read: 11 }, { device: 'sick' });
    await expectShownOnce(SICK!, people);
    await gateway.call('DELETE', `/messages/${list}`, { device: 'sick' });
  });
});
