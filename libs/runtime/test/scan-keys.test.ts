import { toError } from '@gateway/runtime/errors';
import { mastersOfAllSlots } from '@gateway/runtime/redis/redis-nodes';
import { type ScanOptions, scanKeys, scanSlot } from '@gateway/runtime/redis/scan-keys';
import { expect } from 'chai';
import { Cluster, type Redis } from 'ioredis';

const OPTIONS: ScanOptions = { match: '*', count: 1 };
/** In slot 12,182: of the last of three. */
const KEY = 'foo';

/** A master, and what it says of its slots, and of those of others. */
interface Master {
  id: string;
  epoch: number;
  slots: Record<string, string>;
  keys: string[];
  isAway: boolean;
  stream: object;
}

describe('a client of a Redis Cluster that is to find all keys', () => {
  let masters: Record<'a' | 'b' | 'c', Master>;
  /** Those that the client knows. */
  let known: string[];
  beforeEach(() => {
    const make = (id: string, epoch: number, keys: string[]): Master => ({
      ...{ id, epoch, keys, isAway: false, stream: {} },
      slots: { a: '0-5460', b: '5461-10922', c: '10923-16383' },
    });
    masters = { a: make('a', 1, ['x']), b: make('b', 2, ['y', 'z']), c: make('c', 3, [KEY]) };
    known = Object.keys(masters);
  });

  function nodeOf(master: Master): Redis {
    const node = {
      options: { host: master.id, port: 1 },
      scan: async (cursor: string) => {
        const [at, next] = [Number(cursor), Number(cursor) + 1];
        return [next < master.keys.length ? String(next) : '0', master.keys.slice(at, next)];
      },
      cluster: async () => {
        if (master.isAway) throw new Error('Connection is closed.');
        const lines = Object.values(masters).map(({ id, epoch }) => {
          const flags = id === master.id ? 'myself,master' : 'master';
          return `${id} 127.0.0.1:1@2 ${flags} - 0 0 ${epoch} connected ${master.slots[id]}`.trimEnd();
        });
        return `${lines.join('\n')}\n`;
      },
    };
    return Object.defineProperty(node, 'stream', { get: () => master.stream }) as unknown as Redis;
  }

  function connect(): Redis {
    const nodes = new Map(Object.values(masters).map((master) => [master.id, nodeOf(master)]));
    const slots = Array.from({ length: 16_384 }, (_, slot) => [`${slot < 5461 ? 'a' : slot < 10_923 ? 'b' : 'c'}:1`]);
    return Object.defineProperties(Object.create(Cluster.prototype), {
      nodes: { value: () => known.map((id) => nodes.get(id)) },
      slots: { value: slots },
    });
  }

  /** What was found, or why it failed. @param meanwhile after the first key. */
  async function read(pages: AsyncGenerator<string[]>, meanwhile = () => {}): Promise<string> {
    const found: string[] = [];
    try {
      for await (const keys of pages) {
        if (found.length === 0) meanwhile();
        found.push(...keys);
      }
      return found.join();
    } catch (thrown) {
      const { message } = toError(thrown);
      expect(thrown, message).to.have.property('code', 'redis_away');
      return message;
    }
  }
  const scan = (meanwhile?: () => void) => read(scanKeys(connect(), OPTIONS), meanwhile);
  const scanOne = (meanwhile?: () => void) => read(scanSlot(connect(), KEY, OPTIONS), meanwhile);
  const say = (slots: Record<string, string>) => {
    for (const master of Object.values(masters)) master.slots = { ...slots };
  };
  const moveToA = () => say({ a: '0-5460 12182', b: '5461-10922', c: '10923-12181 12183-16383' });
  const MOVES = 'not all keys can be seen, because a slot of the Redis Cluster moves: run it again when no slot moves';
  const MOVED = MOVES.replace('moves:', 'has moved meanwhile:');
  const AWAY =
    'not all keys can be seen, because a master of the Redis Cluster is away: run it again when all masters are there';

  it('finds the keys of all masters, or those of the master of one slot', async () => {
    expect(await scan()).to.equal('x,y,z,foo');
    expect(await scanOne()).to.equal(KEY);
    moveToA();
    expect(await scan(), 'where slots lie singly').to.equal('x,y,z,foo');
  });

  const WRONG: [string, () => void, string][] = [
    ['a slot is given away', () => Object.assign(masters.c.slots, { c: '10923-16383 [12182->-d]' }), MOVES],
    ['a slot is taken in', () => Object.assign(masters.a.slots, { a: '0-5460 [12182-<-c]' }), MOVES],
    [
      'not all masters know yet who has a slot',
      () => Object.assign(masters.b.slots, { a: '0-5459', b: '5460-10922' }),
      MOVES,
    ],
    ['a slot has no master', () => say({ a: '0-5460', b: '5461-10922', c: '10923-16382' }), AWAY],
    ['a master with slots is not known', () => known.splice(1, 1), AWAY],
    ['a master does not answer', () => Object.assign(masters.b, { isAway: true }), AWAY],
  ];
  for (const [when, change, why] of WRONG) {
    it(`fails when ${when}, before it or meanwhile`, async () => {
      expect(await scan(change)).to.equal(why);
      expect(await scan()).to.equal(why);
    });
  }

  it('fails when a slot has moved to a master that was looked at before, also if it came back', async () => {
    const forth = () => {
      moveToA();
      masters.a.epoch = 4;
    };
    expect(await scan(forth)).to.equal(MOVED);
    expect(await scan(), 'once it is there').to.equal('x,y,z,foo');
    const backAndForth = () => Object.assign(masters.a, { epoch: 6 });
    expect(await scan(backAndForth)).to.equal(MOVED);
  });

  it('fails when a connection was lost in the middle: the next one may lead to a server with another order of keys', async () => {
    const pages = scanKeys(connect(), OPTIONS);
    for (const key of ['x', 'y']) expect((await pages.next()).value).to.deep.equal([key]);
    masters.b.stream = {};
    expect(await read(pages)).to.match(/the connection was lost/);
  });

  it('fails in one slot when that slot moves, and goes on when others move, or other masters are away', async () => {
    masters.c.slots.c = '10923-16383 [12181->-d]';
    masters.a.isAway = true;
    known = ['b', 'c'];
    expect(await scanOne()).to.equal(KEY);
    masters.c.slots.c = '10923-16383 [12182->-d]';
    expect(await scanOne()).to.equal(MOVES);
    moveToA();
    expect(await scanOne(), 'before the client knows').to.equal(MOVES);
    say({ a: '0-5460', b: '5461-10922', c: '10923-16383' });
    expect(await scanOne(() => Object.assign(masters.c, { epoch: 5 }))).to.equal(MOVED);
    expect(await scanOne(() => Object.assign(masters.c, { isAway: true }))).to.equal(AWAY);
  });

  it('fails when it knows no master of some slot', () => {
    expect(mastersOfAllSlots(connect()).size).to.equal(3);
    known = ['a', 'c'];
    const AGAIN = 'a master of the Redis Cluster is away: run it again when all masters are there';
    expect(() => mastersOfAllSlots(connect()))
      .to.throw(AGAIN)
      .with.property('code', 'redis_away');
  });
});
