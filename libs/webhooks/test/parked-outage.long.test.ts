import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const SECOND_MS = 1_000;
const MINUTE = 60;
const HOUR = 60 * MINUTE;

describe('what is put aside for an endpoint that is down', () => {
  const endpoint = useEndpoint();
  const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);
  const bad = numbers(8).map((number) => number * 5);
  const rest = async (seconds: number, step: number) => {
    for (let second = 0; second < seconds; second += step) {
      await endpoint.deliverAll();
      endpoint.nowMs += step * SECOND_MS;
    }
  };
  const attemptsIn = async (seconds: number) => {
    const before = endpoint.received.length;
    await rest(seconds, 15 * MINUTE);
    return endpoint.received.length - before;
  };

  beforeEach(async () => {
    endpoint.keyOf = (number) => `k${number}`;
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.some((number) => bad.includes(number)) ? 422 : 204);
    await endpoint.write(...numbers(40));
    await endpoint.write(100);
    await rest(10 * MINUTE, 10);
    expect(endpoint.told).to.have.length(33);
  });

  for (const [how, answer] of [
    ['does not answer', (_request: number, res: { destroy(): void }) => void res.destroy()],
    ['has a proxy that answers', () => 503],
  ] as const) {
    it(`is a hundred requests a day, not a hundred for each of it, where that ${how}; and all comes when it is back`, async () => {
      endpoint.answer = answer;
      expect(await attemptsIn(24 * HOUR)).to.be.within(80, 110);
      expect(await endpoint.status()).to.equal('active');
      endpoint.answer = () => 204;
      await rest(30 * MINUTE, MINUTE);
      expect(endpoint.told.slice(33).sort((one, other) => one - other)).to.deep.equal(bad);
    });
  }

  it('waits for none of the others once something is taken, or it is asked for', async () => {
    await attemptsIn(2 * HOUR);
    endpoint.answer = () => 204;
    const ask = (id: string) =>
      replayWebhook(endpoint.space.store, { workspace: 'main', id: endpoint.id }, { ids: [id] }, endpoint.nowMs);
    endpoint.nowMs -= 15 * MINUTE * SECOND_MS;
    await endpoint.deliverAll();
    expect(endpoint.told.slice(33), 'its time has not come').to.deep.equal([]);
    await ask('5');
    await endpoint.deliverAll();
    expect(endpoint.told.slice(33)).to.include(5);
  });
});

describe('an endpoint that goes down while it is tried who of a refused request is refused', () => {
  const endpoint = useEndpoint();
  for (const laterMinutes of [undefined, 30, 120])
    it(`gets a hundred requests a day, something new ${laterMinutes ? `after ${laterMinutes} min` : 'never'}`, async () => {
      let isDown = false;
      endpoint.keyOf = (number) => `k${number}`;
      endpoint.answer = () => {
        const { numbers } = endpoint.received.at(-1)!;
        const answer = isDown || numbers.includes(7) ? 500 : 204;
        isDown ||= answer === 204;
        return answer;
      };
      await endpoint.write(...Array.from({ length: 399 }, (_, n) => n));
      for (let step = 0; !isDown; step++, endpoint.nowMs += 5 * SECOND_MS) {
        if (step === 6) await endpoint.write(500);
        await endpoint.deliverAll();
      }
      const before = endpoint.received.length;
      for (let minute = 0; minute < 24 * 60; minute++, endpoint.nowMs += MINUTE * SECOND_MS) {
        if (minute === laterMinutes) await endpoint.write(600);
        await endpoint.deliverAll();
      }
      expect(endpoint.received.length - before).to.be.within(70, 110);
    });
});

describe('what is kept of the requests to an endpoint that is down', () => {
  const endpoint = useEndpoint();

  it('does not grow with all that waits behind them, about the same recipients', async () => {
    endpoint.keyOf = (number) => (number === 9_999 ? 'other' : `k${number % 500}`);
    endpoint.answer = (_request, res) => void res.destroy();
    for (let part = 0; part < 12; part++)
      await endpoint.write(...Array.from({ length: 500 }, (_, n) => 500 * part + n));
    await endpoint.write(...Array.from({ length: 500 }, (_, n) => 500 * 12 + n), 9_999);
    for (let second = 0; second < 2 * HOUR; second += MINUTE) {
      await endpoint.deliverAll();
      endpoint.nowMs += MINUTE * SECOND_MS;
    }
    const attempts = await listAttempts(endpoint.space.store, 'main', endpoint.id, 200);
    expect(attempts).to.have.length.above(10);
    for (const attempt of attempts) expect(JSON.stringify(attempt).length).to.be.below(1_000);
  });
});

describe('what an endpoint refuses that takes small requests only', () => {
  const endpoint = useEndpoint();
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

  it('is passed by what comes behind it in a request that is small enough', async () => {
    endpoint.keyOf = (number) => `k${number}`;
    endpoint.answer = () => {
      const last = endpoint.received.at(-1)!.numbers;
      return last.length > 100 ? 413 : last.includes(0) ? 422 : 204;
    };
    await endpoint.write(0);
    await endpoint.deliver();
    for (const part of numbers(12)) await endpoint.write(...numbers(50).map((n) => 1 + 50 * part + n));
    for (let second = 0; second < 600; second += 5) {
      await endpoint.deliverAll();
      endpoint.nowMs += 5 * SECOND_MS;
    }
    expect([...endpoint.told].sort((one, other) => one - other)).to.deep.equal(numbers(601).slice(1));
    expect(await endpoint.status()).to.equal('active');
  });
});

describe('an endpoint that fails while much is told to others', () => {
  const logged = useLoggedEndpoint();
  const ENTRIES = 5_000;

  for (const count of [1, 2])
    it(`looks for something that may pass what it refuses in what is new, and passes it when there is such: ${count}`, async () => {
      const { stage, space } = logged;
      const { eventLog } = workspaceKeys(space.store.space, 'main');
      const tell = await logged.create({ types: ['otp.sent'] });
      const sendOtp = async (phone: string) => logged.record(await logged.accept([phone], 'otp'), 'acked', 0, 1);
      const refused = ['447700900001', '447700900004'].slice(0, count);
      stage.refuses = ({ data }) => refused.includes(data.to as string);
      for (const phone of refused) await sendOtp(phone);
      for (let failure = 0; failure < 3; failure++) {
        await tell();
        stage.aheadMs += 60_000;
      }
      await tell();
      await logged.record(await logged.accept(['447700900002']), 'acked', 0, 1);
      await logged.relay();
      const newest = await space.store.redis.xrevrangeBuffer(eventLog, '+', '-', 'COUNT', 1);
      const pipeline = space.store.redis.pipeline();
      for (let n = 0; n < ENTRIES; n++) pipeline.xadd(eventLog, '*', 'e', newest[0]![1][1]!);
      await pipeline.exec();
      const reads = async () => {
        const stats = await space.clients.commands.info('commandstats');
        return Number(/^cmdstat_xrange:calls=(\d+)/m.exec(stats)![1]);
      };
      stage.aheadMs += 6_000;
      await tell();
      const before = await reads();
      stage.aheadMs += 1_000;
      await tell();
      expect((await reads()) - before).to.be.below(10);
      await sendOtp('447700900003');
      await tell();
      expect(stage.events.map(({ data }) => data.to)).to.deep.equal(['447700900003']);
    });
});
