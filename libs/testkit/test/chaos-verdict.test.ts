import { type ChaosResult, judge } from '@gateway/testkit/chaos/run-chaos';
import { expect } from 'chai';

const EVENTS: ChaosResult['events'] = {
  ...{ told: 2_000, lost: 0, invented: 0, disordered: 0, duplicates: 0 },
  ...{ changes: 1_900, written: 9, requests: 90, repeats: 9, altered: 0, putAside: 0, consumerKills: 4 },
};

/** A run that nothing can be said against: of 900 who are left without cancelled and unwilling ones, 5 % may fail. */
const RESULT: ChaosResult = {
  ...{ rounds: 1, seed: 7, redis: 'cluster', waitReplicas: 1, redisBlows: 5, spared: [], keepsPromises: true },
  ...{ recipients: 1_000, shown: 855, failed: 85, expired: 0, cancelled: 60, unwilling: 40 },
  ...{ unwanted: 0, lost: 0, duplicates: 0, miscounted: 0, forgotten: 0, events: EVENTS },
  ...{ kills: 20, eventsKills: 2, faults: 30 },
};
/** Four tenths are gone with a master, and no replica was asked to confirm. */
const LOSSY: ChaosResult = {
  ...{ ...RESULT, waitReplicas: 0, keepsPromises: false },
  ...{ shown: 475, lost: 400, forgotten: 2, failed: 65, miscounted: 400, events: { ...EVENTS, lost: 12 } },
};
const FAILED = { passed: false, verdict: 'FAILED; repeat it with --seed 7' };

describe('the verdict on a chaos run', () => {
  it('is that nothing is lost, whether promises are kept or may be broken', () => {
    for (const result of [RESULT, { ...RESULT, waitReplicas: 0, keepsPromises: false }]) {
      const { passed, verdict } = judge(result);
      expect(passed).to.equal(true);
      expect(verdict).to.match(/^Nothing lost, /);
    }
  });

  it('says how many were lost, and why, where promises may be broken, however many those are', () => {
    const verdict =
      '400 lost, 0 shown twice, 0 not wanted; of events 12 lost: no replica was asked to confirm (docs/durability.md).';
    expect(judge(LOSSY)).to.deep.equal({ passed: true, verdict });
  });

  const without: Record<string, Partial<ChaosResult>> = {
    'a message': { lost: 1 },
    'four tenths': { ...LOSSY, waitReplicas: 1, keepsPromises: true },
    'an end for each': { failed: 84 },
    'an event': { events: { ...EVENTS, lost: 1 } },
    'a right count': { miscounted: 1 },
  };
  for (const [what, change] of Object.entries(without)) {
    it(`fails without ${what}, where promises are kept`, () => {
      expect(judge({ ...RESULT, ...change })).to.deep.equal(FAILED);
    });
  }

  it('fails if one was shown twice, or to someone who does not want it, where promises are kept', () => {
    expect(judge({ ...RESULT, duplicates: 1 })).to.deep.equal(FAILED);
    expect(judge({ ...RESULT, unwanted: 1 })).to.deep.equal(FAILED);
  });

  for (const [name, base] of Object.entries({ 'are kept': RESULT, 'may be broken': LOSSY })) {
    it(`fails if a phone shows one twice, where promises ${name}: the repeat of what is forgotten has the same ids`, () => {
      expect(judge({ ...base, duplicates: 1 })).to.deep.equal(FAILED);
    });

    it(`fails if more than 5 % of those that are not lost are not shown, where promises ${name}`, () => {
      expect(judge({ ...base, shown: base.shown - 1, failed: base.failed + 1 })).to.deep.equal(FAILED);
    });

    it(`fails if the run was too mild, where promises ${name}`, () => {
      const mild: Partial<ChaosResult>[] = [
        { eventsKills: 0 },
        { recipients: base.recipients - base.cancelled, cancelled: 0 },
        { recipients: base.recipients - base.unwilling, failed: base.failed - base.unwilling, unwilling: 0 },
        { events: { ...base.events, told: 0 } },
        { events: { ...base.events, repeats: 0 } },
        { events: { ...base.events, consumerKills: 0 } },
      ];
      for (const change of mild) expect(judge({ ...base, ...change })).to.deep.equal(FAILED);
      expect(judge({ ...base, spared: ['freeze', 'fill'] })).to.deep.equal({
        passed: false,
        verdict: 'FAILED: Redis was spared freeze, fill; repeat it with --seed 7',
      });
    });
  }

  it('fails if nothing at all was shown', () => {
    expect(judge({ ...LOSSY, shown: 0, failed: 0, lost: 900 })).to.deep.equal(FAILED);
  });
});
