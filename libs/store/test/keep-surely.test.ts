import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError, GatewayError } from '@gateway/runtime/errors';
import { keepSurely } from '@gateway/store/inbound/keep-surely';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

const PATIENCE_MS = 20_000;

describe('what the network is told has arrived', () => {
  const { space, ownership, address } = useOwnedDevice();
  /** What the replicas say to each write in turn; when that is over, that they have it. */
  let replicas: Error[];
  let passedMs: number;
  let writes: number;
  let confirmed: string[];
  let pauses: number[];
  let told: string[];
  beforeEach(() => {
    [replicas, passedMs, writes, confirmed, pauses, told] = [[], 0, 0, [], [], []];
  });

  const unconfirmed = () => new GatewayError({ code: 'not_confirmed', message: 'no replica has it' });
  /** Each attempt takes `attemptMs`. */
  const keep = (write: () => Promise<number>, attemptMs = 0) => {
    const confirmWrites = async (key: string) => {
      confirmed.push(key);
      passedMs += attemptMs;
      const answer = replicas.shift();
      if (answer) throw answer;
    };
    const clock = { nowMs: () => 1_000_000 + passedMs, monotonicMs: () => passedMs };
    const logger = { warn: (line: string) => void told.push(line) };
    const pause = async (ms: number) => void pauses.push(ms);
    const deps = { store: { ...space.store, confirmWrites }, ownership, clock, logger, pause };
    return keepSurely(deps, write);
  };
  const count = async () => ++writes;
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );

  it('is written once where replicas have it at once', async () => {
    expect(await keep(count)).to.equal(1);
    expect(confirmed).to.deep.equal([deviceKeys(space.store.space, address).received]);
  });

  it('is written again, and not only asked for again, until they have it', async () => {
    replicas = [unconfirmed(), unconfirmed()];
    expect(await keep(count)).to.equal(3);
    expect(confirmed).to.have.length(3);
  });

  it('is kept from the network for as long as they do not have it, written less and less often, and told of once', async () => {
    replicas = Array.from({ length: 9 }, unconfirmed);
    expect(await keep(count, 60_000)).to.equal(10);
    expect(told).to.deep.equal(['replicas have not confirmed what arrived: the network is not told yet']);
    expect(pauses.slice(0, 3)).to.deep.equal([250, 500, 1_000]);
    expect(pauses.at(-1)).to.equal(10_000);
  });

  it('is told of once in a minute, however much waits', async () => {
    passedMs = 1_000_000;
    for (const [attemptMs, lines] of [
      [PATIENCE_MS, 1],
      [PATIENCE_MS, 1],
      [30_000, 2],
    ] as const) {
      replicas = [unconfirmed()];
      await keep(count, attemptMs);
      expect(told).to.have.length(lines);
    }
  });

  it('is not told of where they have it within twenty seconds', async () => {
    replicas = [unconfirmed()];
    await keep(count, PATIENCE_MS - 1);
    expect(told).to.deep.equal([]);
  });

  for (const [name, error] of [
    ['another owner has the device', new FencedError()],
    ['Redis is full', new GatewayError({ code: 'redis_full', message: 'full' })],
    ['the step has a defect', new TypeError('defect')],
  ] as const) {
    it(`is not tried again where ${name}`, async () => {
      const write = async () => {
        writes++;
        throw error;
      };
      expect(await failureOf(keep(write))).to.equal(error);
      expect([writes, confirmed.length]).to.deep.equal([1, 0]);
    });
  }

  describe('where Redis refuses to write', () => {
    const refused = new Error('NOREPLICAS Not enough good replicas to write.');
    const refuse = (times: number, attemptMs: number) => async () => {
      passedMs += attemptMs;
      if (++writes <= times) throw refused;
      return writes;
    };

    it('is written again once it takes it', async () => {
      expect(await keep(refuse(2, 4_000))).to.equal(3);
    });

    it('is given up after ten seconds', async () => {
      expect(await failureOf(keep(refuse(9, 4_000)))).to.equal(refused);
      expect(writes).to.equal(3);
    });

    it('has ten seconds each time, however long replicas were away before', async () => {
      replicas = [unconfirmed()];
      const write = refuse(2, 4_000);
      let calls = 0;
      const late = async () => {
        if (++calls > 1) return write();
        passedMs += 60_000;
        return 0;
      };
      expect(await keep(late)).to.equal(3);
    });
  });
});
