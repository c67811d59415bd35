import { createLogger } from '@gateway/runtime/logs/logger';
import { ensureDevice } from '@gateway/store/devices/devices';
import { recordStop } from '@gateway/store/workspace/hidden-opt-outs';
import { OptOutJoins } from '@gateway/store/workspace/opt-out-joins';
import { findOptedOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const PEOPLE = Array.from({ length: 250 }, (_, i) => ({
  phone: String(491_710_000_000 + i),
  hiddenId: `${144_000_000_000_000 + i}@lid`,
}));
const NUMBERS = PEOPLE.map(({ phone }) => phone);
const ownership = { address: { workspace: 'main', device: 'default' } };
const logger = createLogger({ service: 'test', level: 'error' });

/** A network that has the people above, and does not answer for a number as often as `refusals` says. */
class Network {
  questions = 0;

  constructor(private readonly refusals = new Map<string, number>()) {}

  async lookUp(numbers: readonly string[]) {
    this.questions += 1;
    return new Map(numbers.map((number) => [number, this.answer(number)]));
  }

  numberOf(number: string): string {
    return number;
  }

  namedHiddenIdOf(number: string): string | undefined {
    return PEOPLE.find(({ phone }) => phone === number)?.hiddenId;
  }

  private answer(number: string): { exists: boolean } | { error: number } {
    const left = this.refusals.get(number) ?? 0;
    this.refusals.set(number, left - 1);
    return left > 0 ? { error: 500 } : { exists: true };
  }
}

describe('joining the names of people who opted out', () => {
  let space: RedisSpace;
  let joins: OptOutJoins;

  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, { workspace: 'main', device: 'default' });
    joins = new OptOutJoins({ store: space.store, ownership, logger, firstPauseMs: 1 });
    const atMs = Date.now();
    await Promise.all(PEOPLE.map(({ hiddenId }) => recordStop(space.store, 'main', { hiddenId, atMs })));
  });
  afterEach(async () => {
    joins.detach();
    await space.close();
  });

  const joined = async () => (await findOptedOut(space.store, 'main', NUMBERS)).size;
  const allJoined = () => eventually(async () => (await joined()) === PEOPLE.length, { what: 'all joined' });

  it('forgets none of many that are heard of at once, before there is a session', async () => {
    joins.numbersKnown(PEOPLE);
    expect(await joined()).to.equal(0);
    joins.attach(new Network());
    await allJoined();
  });

  it('asks again only about people for whom the network gave no answer', async () => {
    const network = new Network(new Map(NUMBERS.slice(0, 3).map((number, i) => [number, i + 1])));
    joins.attach(network);
    joins.numbersKnown(PEOPLE);
    await allJoined();
    expect(network.questions).to.equal(3 + 3);
  });

  it('goes on in the next session with what the last one has left', async () => {
    const [first] = NUMBERS as [string];
    joins.attach({ ...namesOf(new Network()), lookUp: () => Promise.reject(new Error('the session has ended')) });
    joins.numbersKnown(PEOPLE);
    joins.detach();
    joins.attach(new Network(new Map([[first, 1]])));
    await allJoined();
  });

  it('keeps nothing of a person whom an operator wants forgotten', async () => {
    const asked: string[] = [];
    const network = new Network();
    const lookUp = (numbers: readonly string[]) => network.lookUp(numbers.filter((number) => asked.push(number)));
    joins.numbersKnown(PEOPLE);
    joins.forget(NUMBERS[7]!);
    joins.attach({ ...namesOf(network), lookUp });
    await eventually(async () => (await joined()) === PEOPLE.length - 1);
    expect(asked).not.to.include(NUMBERS[7]);
  });

  it('does not ask for those who have not opted out', async () => {
    const network = new Network();
    joins.attach(network);
    joins.numbersKnown([{ phone: '491720000000', hiddenId: '999@lid' }, PEOPLE[0]!]);
    await eventually(async () => (await joined()) === 1);
    expect(network.questions).to.equal(1);
  });
});

function namesOf(network: Network) {
  return {
    numberOf: (number: string) => network.numberOf(number),
    namedHiddenIdOf: (number: string) => network.namedHiddenIdOf(number),
  };
}
