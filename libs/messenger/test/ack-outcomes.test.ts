import { type AckOutcome, toAckOutcome } from '@gateway/messenger/codes/ack-outcomes';
import { expect } from 'chai';

const TABLE: [error: string | undefined, AckOutcome][] = [
  [undefined, { kind: 'accepted', atMs: 7 }],
  ['400', { kind: 'refused', code: 400 }],
  ['401', { kind: 'refused', code: 401 }],
  ['404', { kind: 'refused', code: 404 }],
  ['406', { kind: 'refused', code: 406 }],
  ['421', { kind: 'refused', code: 421 }],
  ['429', { kind: 'retryLater', code: 429 }],
  ['463', { kind: 'restricted', code: 463 }],
  ['475', { kind: 'restricted', code: 475 }],
  ['479', { kind: 'staleDevices', code: 479 }],
  ['487', { kind: 'refused', code: 487 }],
  ['500', { kind: 'retryLater', code: 500 }],
  ['503', { kind: 'retryLater', code: 503 }],
  ['599', { kind: 'retryLater', code: 599 }],
  ['600', { kind: 'refused', code: 600 }],
  ['nonsense', { kind: 'refused', code: 400 }],
];

describe('outcomes of an ack', () => {
  for (const [error, outcome] of TABLE) {
    it(`reads ${error ?? 'no error'} as ${outcome.kind}`, () => {
      expect(toAckOutcome(error, 7)).to.deep.equal(outcome);
    });
  }
});
