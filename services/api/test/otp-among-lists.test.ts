import { otpText } from '@gateway/contracts/content/otp-text';
import { RATE_LIMITS } from '@gateway/contracts/limits';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ACCOUNT = '491700000022';
const CODE = '00994417';
/** What may go out between the request for an OTP and its ack: a lookup or two and what is under way at that moment. */
const MOST_IN_FRONT = 400;

describe('one-time passwords among lists', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;

  beforeEach(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    gateway = await Gateway.start({ space, simulator, env: { SESSION_TTL_MS: '2000' } });
    await gateway.link(ACCOUNT);
  });
  afterEach(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  const accepted = () => simulator.network.counters.acceptedStanzas;
  const waitForMore = (count: number) => {
    const before = accepted();
    return eventually(() => accepted() >= before + count, { everyMs: 5 });
  };
  async function sendList(to: string[], headers?: Record<string, string>): Promise<string> {
    const { status, body } = await gateway.call('POST', '/send', {
      body: { to, text: 'bulk' },
      ...(headers && { headers }),
    });
    expect(status, JSON.stringify(body)).to.equal(202);
    return body.messageId;
  }
  /** With as many tokens as the limit of each asks for. */
  async function sendLists(count: number, recipients: number): Promise<void> {
    for (let list = 0; list < count; list += RATE_LIMITS.send) {
      const { value } = await createApiToken(space.store, 'main', { name: 'lists', device: 'default' });
      const headers = { authorization: `Bearer ${value}` };
      for (let i = list; i < Math.min(count, list + RATE_LIMITS.send); i++) {
        await sendList(makeNumbers(recipients, 1_000 + i), headers);
      }
    }
  }
  /** Resolves with how many messages the network took before it took the OTP. */
  async function overtake(phone: string): Promise<number> {
    const before = accepted();
    const { status, body } = await gateway.call('POST', '/otp', { body: { phone, code: CODE } });
    expect(status, JSON.stringify(body)).to.equal(200);
    const inFront = accepted() - before - 1;
    await eventually(async () => {
      const shown = (await readDeliveries(simulator, ACCOUNT)).filter(({ to, shown }) => to === phone && shown > 0);
      expect(shown.map(({ text }) => text)).to.deep.equal([otpText(CODE, 'English')]);
      return true;
    });
    return inFront;
  }

  it('overtake a running list of 2,000', async () => {
    const [phone] = makeNumbers(1, 42) as [string];
    const list = await sendList(makeNumbers(2_000, 43));
    await waitForMore(20);
    expect(await overtake(phone)).to.be.lessThan(MOST_IN_FRONT);
    const { counts } = (await gateway.call('GET', `/messages/${list}`)).body;
    expect(counts.queued, 'the list is still running').to.be.greaterThan(0);
  });

  it('overtake 200 open lists that a sender has just taken over, all of them at once', async () => {
    const [first, second] = makeNumbers(2, 46) as [string, string];
    await gateway.senders[0]!.stop();
    await sendLists(200, 15);
    const before = accepted();
    await gateway.addSender();
    await waitForMore(20);
    expect(await overtake(first)).to.be.lessThan(MOST_IN_FRONT);
    await waitForMore(20);
    expect(await overtake(second)).to.be.lessThan(MOST_IN_FRONT);
    expect(accepted() - before, 'the lists are still running').to.be.lessThan(200 * 15);
  });
});
