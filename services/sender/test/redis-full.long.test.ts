import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { setPace } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { type SmallRedis, startSmallRedis } from '@gateway/testkit/small-redis';
import { expect } from 'chai';

const SESSION_TTL_MS = 1_500;

describe('a full Redis, end to end', () => {
  let redis: SmallRedis;
  let simulator: Simulator;
  let gateway: Gateway;

  before(async () => {
    [redis, simulator] = await Promise.all([startSmallRedis(), startSimulator()]);
    gateway = await Gateway.start({
      space: redis.space,
      simulator,
      senders: 2,
      env: { SESSION_TTL_MS: `${SESSION_TTL_MS}` },
    });
    await gateway.link('491700000001', 'busy');
    await gateway.link('491700000002', 'leaving');
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await redis.close();
  });

  const send = async (device: string, to: string[]) => {
    const answer = await gateway.call('POST', '/send', { device, body: { to, text: 'while it is full' } });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(202);
    return answer.body.messageId as string;
  };
  const countShown = async () => (await readDeliveries(simulator, '491700000001')).length;
  const ownerOf = (device: string) =>
    redis.space.store.redis.get(deviceKeys(redis.space.store.space, { workspace: 'main', device }).owner);

  it('keeps devices and their lists going, takes nothing new, and all goes on when there is room', async () => {
    const { store } = redis.space;
    const busy = { workspace: 'main', device: 'busy' };
    await setPace(store, busy, { messagesPerMinute: 1_200, burst: 1, jitter: 0 });
    await setPace(store, { ...busy, device: 'leaving' }, { messagesPerMinute: 1, burst: 1, jitter: 0 });
    for (const device of ['busy', 'leaving']) await ringDoorbell(store, { topic: 'sends', workspace: 'main', device });
    const numbers = makeNumbers(60);
    const list = await send('busy', numbers);
    const cancelled = await send('leaving', makeNumbers(20, 1));
    await eventually(() => simulator.network.counters.shown >= 10);
    const [ownership, logins] = [await ownerOf('busy'), simulator.network.counters.logins];

    await redis.fill();
    const filledAtMs = performance.now();
    const refused = await gateway.call('POST', '/send', { device: 'busy', body: { to: numbers, text: 'one more' } });
    expect(refused.status).to.equal(503);
    expect(Number(refused.headers.get('retry-after'))).to.be.greaterThan(0);
    const otp = await gateway.call('POST', '/otp', { device: 'busy', body: { phone: numbers[0], code: '123456' } });
    expect(otp.status).to.equal(503);
    const status = await gateway.call('GET', '/status', { device: 'busy' });
    expect(status.body).to.include({ success: true, status: 'connected' });
    const ended = await gateway.call('DELETE', `/messages/${cancelled}`, { device: 'leaving' });
    expect(ended.body.counts, JSON.stringify(ended.body)).to.include({ queued: 0 });
    expect(ended.body.counts.cancelled).to.be.greaterThan(17);
    const left = await gateway.call('POST', '/disconnect', { device: 'leaving' });
    expect(left.body).to.deep.equal({ success: true, message: 'Disconnected and logged out.' });
    await eventually(() => performance.now() - filledAtMs > 2 * SESSION_TTL_MS, { what: 'two terms of an ownership' });
    expect(await ownerOf('busy'), 'the same owner').to.equal(ownership);
    await gateway.waitForSend(list, { queued: 0, read: numbers.length }, { device: 'busy' });

    await redis.empty();
    const next = await eventually(
      async () => {
        const answer = await gateway.call('POST', '/send', { device: 'busy', body: { to: numbers, text: 'again' } });
        return answer.status === 202 && (answer.body.messageId as string);
      },
      { everyMs: 500 },
    );
    await gateway.waitForSend(next, { queued: 0, read: numbers.length }, { device: 'busy' });
    const shown = await readDeliveries(simulator, '491700000001');
    expect(shown).to.have.length(2 * numbers.length);
    expect(shown.every((message) => message.shown === 1)).to.equal(true);
    expect(simulator.network.counters.logins, 'no device has logged in again').to.equal(logins);
    expect(await ownerOf('busy'), 'the same owner').to.equal(ownership);
  });

  it('gives a device to the next sender, and lets services start, while it is full', async () => {
    const [numbers, before] = [makeNumbers(60, 2), await countShown()];
    const list = await send('busy', numbers);
    await eventually(async () => (await countShown()) >= before + 10);
    await redis.fill();
    await (await gateway.findOwner('busy'))!.kill();
    await gateway.waitForSend(list, { queued: 0, read: numbers.length }, { device: 'busy' });
    const shown = (await readDeliveries(simulator, '491700000001')).slice(before);
    expect(shown).to.have.length(numbers.length);
    expect(shown.every((message) => message.shown === 1)).to.equal(true);
    const started = await Promise.all([gateway.addApi(), gateway.addSender()]);
    expect(await Promise.all(started.map((service) => service.stop()))).to.deep.equal([true, true]);
    await redis.empty();
  });
});
