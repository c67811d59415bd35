import type { Pace } from '@gateway/contracts/pace';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { setPace } from '@gateway/store/devices';
import { addOptOuts } from '@gateway/store/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ACCOUNT = '491700000081';
const ADDRESS = { workspace: 'main', device: 'default' };

describe('people who opted out, end to end', function () {
  this.timeout(60_000);
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    gateway = await Gateway.start({ space, simulator });
    await gateway.link(ACCOUNT);
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });
  afterEach(() => setPace(space.store, ADDRESS, undefined));

  const optOut = (...numbers: string[]) =>
    addOptOuts(space.store, 'main', { numbers, source: 'api', atMs: Date.now() });
  const send = async (to: string[], text: string): Promise<string> => {
    const { status, body } = await gateway.call('POST', '/send', { body: { to, text } });
    expect(status, JSON.stringify(body)).to.equal(202);
    return body.messageId;
  };
  const finish = (messageId: string) =>
    eventually(
      async () => {
        const { body } = await gateway.call('GET', `/messages/${messageId}?limit=1000`);
        return body.counts.queued === 0 && body.counts.sent === 0 && body;
      },
      { timeoutMs: 30_000, everyMs: 1_050, what: 'the end of the send' },
    );
  const shown = async (text: string) =>
    (await readDeliveries(simulator, ACCOUNT)).filter((message) => message.text === text).map(({ to }) => to);

  it('get nothing of a list, and the answer says of each why', async () => {
    const numbers = makeNumbers(30, 81);
    await optOut(numbers[3]!, numbers[29]!);
    const { counts, recipients } = await finish(await send(numbers, 'a list'));
    expect(counts).to.include({ failed: 2, read: 28 });
    expect(recipients[3]).to.include({ to: numbers[3], status: 'failed', error: 'recipient_opted_out' });
    expect(await shown('a list')).to.have.members(numbers.filter((_, i) => i !== 3 && i !== 29));
  });

  it('are found by the other way to write their number', async () => {
    const [withNine, without] = ['5531987654321', '553187654321'] as const;
    await optOut(withNine);
    const { recipients } = await finish(await send([without], 'oi'));
    expect(recipients[0]).to.include({ to: without, status: 'failed', error: 'recipient_opted_out' });
    expect(await shown('oi')).to.deep.equal([]);
  });

  it('do not slow the pace of the others', async () => {
    const hourly: Pace = { messagesPerMinute: 1 / 60, burst: 1, jitter: 0 };
    await setPace(space.store, ADDRESS, hourly);
    const numbers = makeNumbers(8, 82);
    await optOut(...numbers.slice(0, 7));
    const { counts } = await finish(await send(numbers, 'paced'));
    expect(counts).to.include({ failed: 7, read: 1 });
  });

  it('get the codes that they ask for', async () => {
    const [number] = makeNumbers(1, 83) as [string];
    await optOut(number);
    const { status, body } = await gateway.call('POST', '/otp', { body: { phone: number, code: '482913' } });
    expect(status, JSON.stringify(body)).to.equal(200);
  });
});
