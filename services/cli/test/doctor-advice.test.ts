import { adviseOn, type DoctorFacts } from '@gateway/cli/devices/doctor-advice';
import { expect } from 'chai';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 9, 1);
const HEALTHY: DoctorFacts = {
  isConnected: true,
  nowMs: NOW,
  leftOut: [],
  version: {
    version: '2.3000.1',
    source: 'builtIn',
    isRefused: false,
    sinceMs: NOW - 10 * DAY,
    expiresAtMs: undefined,
  },
  session: {
    namespace: 'lid',
    hasHiddenIdentifier: true,
    hasHistory: true,
    waitingHistories: 0,
    hasSalt: true,
    networkAsksFor: { givenTokens: true, madeTokens: true },
    backlog: 'heard',
    lock: { state: 'none' },
    quota: { state: 'none' },
    lookUp: { tookMs: 20 },
  },
};
const withSession = (change: object): DoctorFacts => ({ ...HEALTHY, session: { ...HEALTHY.session!, ...change } });
const withVersion = (change: object): DoctorFacts => ({ ...HEALTHY, version: { ...HEALTHY.version, ...change } });

describe('the advice of the doctor', () => {
  it('is none for an account that is well', () => {
    expect(adviseOn(HEALTHY)).to.deep.equal([]);
  });

  const findings: [string, DoctorFacts, RegExp][] = [
    ['a namespace that is not known', withSession({ namespace: 'unknown' }), /namespace is not known/],
    ['a message refused in both namespaces', withSession({ bothNamespacesRefusedAtMs: NOW }), /both namespaces/],
    ['a missing salt', withSession({ hasSalt: false }), /no salt/],
    ['a lock', withSession({ lock: { state: 'on' } }), /not start new conversations/],
    ['an exhausted quota', withSession({ quota: { state: 'on', untilMs: NOW } }), /used up/],
    ['a network that does not report its limits', withSession({ lock: { state: 'unanswered' } }), /did not answer/],
    ['a failing lookup', withSession({ lookUp: { code: 408, tookMs: 1 } }), /failed with 408/],
    ['a backlog', withSession({ backlog: 'coming' }), /still arriving/],
    ['a backlog without an end', withSession({ backlog: 'noEndMark' }), /no end mark/],
    ['no connection', { ...HEALTHY, isConnected: false, session: null }, /not connected/],
    ['a query that ends the connection', { ...HEALTHY, leftOut: ['ownPicture'] }, /these queries: ownPicture/],
    ['a refused version', withVersion({ isRefused: true }), /refuses version/],
    ['a version that ends soon', withVersion({ expiresAtMs: NOW + 3 * DAY }), /will refuse/],
    ['an old version', withVersion({ sinceMs: NOW - 61 * DAY }), /61 days old/],
  ];
  for (const [finding, facts, words] of findings) {
    it(`names ${finding}, and nothing else`, () => {
      const advice = adviseOn(facts);
      expect(advice).to.have.length(1);
      expect(advice[0]).to.match(words);
    });
  }
});
