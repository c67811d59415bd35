import { systemClock } from '@gateway/runtime/clock';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import type { Connections } from '@gateway/runtime/redis/server-of';
import { KeptClaims, keptClaimsOf } from '@gateway/sender/dispatching/kept-claims';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const [KEY, OTHER] = ['gw:{#0}:device', 'gw:{#1}:device'] as const;
const LOOK_MS = 5;
const MINUTE_MS = 60_000;

describe('claims of recipients, where replicas of Redis are waited for', () => {
  let nowMs: number;
  /** How often, by key. */
  let asked: Record<string, number>;
  /** Keys that replicas do not confirm. */
  let refused: Set<string>;
  let isNamed: boolean;
  let server: string;
  let lines: string[];
  let claims: KeptClaims;
  beforeEach(() => {
    [nowMs, asked, refused, isNamed, server, lines] = [0, {}, new Set(), true, 'first', []];
    claims = new KeptClaims({
      confirmWrites: async (key) => {
        asked[key] = (asked[key] ?? 0) + 1;
        if (refused.has(key)) throw new Error('0 of 1 replicas');
      },
      connectionsTo: async () => new Map(),
      serverOf: async () => server,
      isNamedByMost: async () => isNamed,
      clock: { monotonicMs: () => nowMs },
      logger: { info: (line) => void lines.push(line), warn: (line) => void lines.push(line) },
      lookMs: LOOK_MS,
    });
  });
  afterEach(() => claims.stop());

  const areKept = async (keys: readonly string[]) => claims.areKept(keys, await claims.since(keys));

  /** After a look that has begun by now. */
  async function looked(key: string = KEY) {
    const before = asked[key]!;
    await eventually(() => asked[key]! > before + 1, { everyMs: 1 });
  }
  async function pass(ms: number) {
    for (const endMs = nowMs + ms; nowMs < endMs; ) {
      nowMs = Math.min(endMs, nowMs + 4_000);
      await looked();
    }
  }
  async function lose(key: string = KEY) {
    refused.add(key);
    expect(await areKept([key])).to.equal(false);
    expect(claims.restMs([key])).to.equal(LOOK_MS);
  }

  it('count once replicas have them, each asked for by itself', async () => {
    expect(claims.restMs([KEY])).to.equal(0);
    expect(await Promise.all([areKept([KEY]), areKept([KEY])])).to.deep.equal([true, true]);
    expect(asked).to.deep.equal({ [KEY]: 2 });
    expect(lines).to.deep.equal([]);
  });

  it('do not count where replicas do not say so, and none is made until they do; the log says so once', async () => {
    await lose();
    await lose(OTHER);
    await looked();
    expect(await areKept([KEY]), 'those under way').to.equal(false);
    refused.delete(KEY);
    await eventually(() => claims.restMs([KEY]) === 0);
    expect(await areKept([KEY])).to.equal(true);
    expect([claims.restMs([KEY, OTHER]), await areKept([KEY, OTHER])], 'all are needed').to.deep.equal([
      LOOK_MS,
      false,
    ]);
    expect(claims.restMs([OTHER]), 'a slot that moves is confirmed by no one').to.equal(LOOK_MS);
    expect(lines).to.have.length(1);
    refused.clear();
    await eventually(() => lines.length === 2);
    expect([claims.restMs([OTHER]), lines[1]]).to.deep.equal([0, 'replicas of Redis confirm claims again']);
    await lose(OTHER);
    expect(lines).to.have.length(3);
  });

  it('count again where the master was not replaced in a minute, however seldom a device asks, as long as most find it well', async () => {
    await lose();
    await looked();
    await pass(MINUTE_MS - 1);
    expect(claims.restMs([KEY])).to.equal(LOOK_MS);
    isNamed = false;
    await pass(1);
    expect(claims.restMs([KEY])).to.equal(LOOK_MS);
    isNamed = true;
    await eventually(() => claims.restMs([KEY]) === 0);
    expect(await areKept([KEY])).to.equal(true);
    await pass(10 * MINUTE_MS);
    expect(claims.restMs([KEY])).to.equal(0);
    isNamed = false;
    await eventually(() => claims.restMs([KEY]) === LOOK_MS);
    expect(await areKept([KEY])).to.equal(false);
  });

  for (const [what, happen] of [
    [
      'its place is taken by another one',
      () => {
        server = 'next';
      },
    ],
    [
      'the process stood still',
      () => {
        nowMs += 5_001;
      },
    ],
  ] as const) {
    it(`wait a minute more where ${what}`, async () => {
      await lose();
      await looked();
      await pass(MINUTE_MS - 1);
      happen();
      await looked();
      await pass(MINUTE_MS - 5_000);
      expect(claims.restMs([KEY])).to.equal(LOOK_MS);
      await pass(5_000);
      await eventually(() => claims.restMs([KEY]) === 0);
    });
  }

  it('do not count where another connection leads to the master by the time replicas are asked: that may be another one', async function () {
    const space = await openRedisSpace();
    try {
      const { redis } = space.store;
      // A client of a Cluster does not connect anew to a node that is ended by hand.
      if (isCluster(redis)) return this.skip();
      const confirmWrites = async (_key: string, since?: Connections) => {
        if (since && !since.has(redis.stream)) throw new Error('the first writes went by another connection');
      };
      const logger = { info: () => {}, warn: () => {} };
      const store = Object.assign(Object.create(space.store), { asksReplicas: true, confirmWrites });
      claims = keptClaimsOf(store, { clock: systemClock, logger })!;
      expect(await areKept([KEY])).to.equal(true);
      const since = await claims.since([KEY]);
      const { stream } = redis;
      redis.disconnect(true);
      await eventually(() => redis.status === 'ready' && redis.stream !== stream);
      expect(await claims.areKept([KEY], since)).to.equal(false);
    } finally {
      await space.close();
    }
  });
});
