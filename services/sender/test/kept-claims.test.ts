import { setImmediate } from 'node:timers/promises';
import { KeptClaims } from '@gateway/sender/dispatching/kept-claims';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const KEY = 'gw:{#0}:device';

describe('claims of recipients, where replicas of Redis are waited for', () => {
  let nowMs: number;
  let asked: number;
  let areThere: boolean;
  let isNamed: boolean;
  let claims: KeptClaims;
  beforeEach(() => {
    [nowMs, asked, areThere, isNamed] = [0, 0, true, true];
    claims = new KeptClaims({
      store: {
        confirmWrites: async () => {
          asked++;
          if (!areThere) throw new Error('0 of 1 replicas');
        },
      },
      isNamedByMost: async () => isNamed,
      clock: { monotonicMs: () => nowMs },
      logger: silentLogger,
    });
  });
  const restAfter = (ms: number) => {
    nowMs += ms;
    return claims.restMs(KEY);
  };

  it('count once replicas have them, each asked for by itself', async () => {
    expect(await claims.restMs(KEY)).to.equal(0);
    expect(await Promise.all([claims.areKept(KEY), claims.areKept(KEY)])).to.deep.equal([true, true]);
    expect(asked).to.equal(2);
  });

  it('do not count where replicas do not say so, and none is made until they do', async () => {
    areThere = false;
    expect(await claims.areKept(KEY)).to.equal(false);
    expect(await restAfter(499)).to.equal(500);
    expect(await claims.areKept(KEY), 'those under way').to.equal(false);
    expect(asked, 'nothing is asked so soon').to.equal(1);
    expect(await Promise.all([restAfter(1), restAfter(0)])).to.deep.equal([500, 500]);
    expect(asked, 'once for all devices').to.equal(2);
    areThere = true;
    expect(await restAfter(500)).to.equal(0);
    expect(await claims.areKept(KEY)).to.equal(true);
  });

  it('count elsewhere meanwhile: a slot of a Cluster that moves is confirmed by no one', async () => {
    areThere = false;
    await claims.areKept(KEY);
    areThere = true;
    expect(await claims.restMs('gw:{#1}:device')).to.equal(0);
    expect(await claims.areKept('gw:{#1}:device')).to.equal(true);
    expect(await restAfter(0)).to.equal(500);
  });

  it('count again where the master was not replaced in a minute, as long as most name it', async () => {
    areThere = false;
    await claims.areKept(KEY);
    for (let i = 1; i < 120; i++) expect(await restAfter(500), `after ${i * 500} ms`).to.equal(500);
    isNamed = false;
    expect(await restAfter(500)).to.equal(500);
    isNamed = true;
    expect(await restAfter(500)).to.equal(0);
    expect(await claims.areKept(KEY)).to.equal(true);
    isNamed = false;
    expect(await restAfter(500), 'no one waits for an answer while the last one is fresh').to.equal(0);
    await setImmediate();
    expect(await restAfter(0)).to.equal(500);
    expect(await claims.areKept(KEY)).to.equal(false);
  });

  it('are as at first where nothing was claimed for a while: replicas may have been back meanwhile', async () => {
    areThere = false;
    await claims.areKept(KEY);
    expect(await restAfter(60_000)).to.equal(500);
    for (let i = 1; i < 120; i++) expect(await restAfter(500), `after ${i * 500} ms`).to.equal(500);
    expect(await restAfter(500)).to.equal(0);
    expect(await restAfter(2_000)).to.equal(500);
    areThere = true;
    expect(await restAfter(60_000)).to.equal(0);
    expect(await claims.areKept(KEY)).to.equal(true);
  });
});
