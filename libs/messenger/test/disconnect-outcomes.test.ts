import {
  type DisconnectOutcome,
  toDisconnectOutcome,
  toFailureOutcome,
} from '@gateway/messenger/codes/disconnect-outcomes';
import { KeysUnreadableError, UntrustedServerError } from '@gateway/messenger/session/session-errors';
import { FencedError } from '@gateway/runtime/errors';
import { expect } from 'chai';

const NOW_MS = 1_700_000_000_000;

/** An error as the library makes them. */
function boom(statusCode: number, data?: unknown) {
  return Object.assign(new Error('ended'), { output: { statusCode }, data });
}

const TABLE: [code: number, DisconnectOutcome][] = [
  [401, { kind: 'loggedOut', code: 401 }],
  [402, { kind: 'temporarilyBanned', code: 402, untilMs: undefined }],
  [403, { kind: 'banned', code: 403 }],
  [405, { kind: 'clientOutdated', code: 405 }],
  [406, { kind: 'loggedOut', code: 406 }],
  [408, { kind: 'reconnect', code: 408, backoff: 'network' }],
  [409, { kind: 'clientOutdated', code: 409 }],
  [411, { kind: 'notMultiDevice', code: 411 }],
  [428, { kind: 'reconnect', code: 428, backoff: 'network' }],
  [429, { kind: 'rateLimited', code: 429, minMs: 300_000 }],
  [440, { kind: 'replaced', code: 440 }],
  [500, { kind: 'unknown', code: 500 }],
  [503, { kind: 'reconnect', code: 503, backoff: 'server' }],
  [515, { kind: 'restart', code: 515 }],
  [516, { kind: 'loggedOut', code: 516 }],
  [599, { kind: 'unknown', code: 599 }],
];

describe('outcomes of a disconnect', () => {
  for (const [code, outcome] of TABLE) {
    it(`reads ${code} as ${outcome.kind}`, () => {
      expect(toDisconnectOutcome({ error: boom(code), nowMs: NOW_MS })).to.deep.equal(outcome);
    });
  }

  it('says until when a ban lasts', () => {
    const error = boom(402, { reason: '402', expire: '3600' });
    const untilMs = NOW_MS + 3_600_000;
    expect(toDisconnectOutcome({ error, nowMs: NOW_MS })).to.deep.equal({
      kind: 'temporarilyBanned',
      code: 402,
      untilMs,
    });
  });

  it('takes the HTTP status of a failed upgrade for a network failure: a proxy cannot ban an account', () => {
    for (const code of [401, 402, 403, 405, 500]) {
      const error = boom(code, new Error(`Unexpected server response: ${code}`));
      expect(toDisconnectOutcome({ error, nowMs: NOW_MS })).to.include({ kind: 'reconnect', backoff: 'network' });
    }
  });

  it('reconnects after errors that are not the network talking', () => {
    for (const error of [undefined, null, new Error('no code'), 'text']) {
      expect(toDisconnectOutcome({ error, nowMs: NOW_MS })).to.include({ kind: 'reconnect', backoff: 'network' });
    }
  });

  it('tells used-up codes from a lost connection while linking', () => {
    const ended = { error: boom(408), nowMs: NOW_MS };
    expect(toDisconnectOutcome({ ...ended, linking: { codesLeft: 0 } })).to.deep.equal({ kind: 'linkExpired' });
    const hungUp = toDisconnectOutcome({ ...ended, error: boom(428), linking: { codesLeft: 0 } });
    expect(hungUp, 'the network counts the time of the last code too').to.deep.equal({ kind: 'linkExpired' });
    expect(toDisconnectOutcome({ ...ended, linking: { codesLeft: 2 } })).to.include({ kind: 'reconnect' });
  });

  it('reads a logout or an unknown error of an attempt as its refusal, and a restart as a restart', () => {
    const linking = { codesLeft: 3 };
    for (const code of [401, 406, 500]) {
      expect(toDisconnectOutcome({ error: boom(code), linking, nowMs: NOW_MS })).to.deep.equal({
        kind: 'linkRefused',
        code,
      });
    }
    expect(toDisconnectOutcome({ error: boom(515), linking, nowMs: NOW_MS })).to.include({ kind: 'restart' });
    expect(toDisconnectOutcome({ error: boom(405), linking, nowMs: NOW_MS })).to.include({ kind: 'clientOutdated' });
  });

  it('knows our own reasons', () => {
    expect(toDisconnectOutcome({ error: new UntrustedServerError('x'), nowMs: 0 })).to.deep.equal({
      kind: 'untrusted',
    });
    expect(toFailureOutcome(new FencedError())).to.deep.equal({ kind: 'fenced' });
    expect(toFailureOutcome(new KeysUnreadableError('session', undefined))).to.deep.equal({ kind: 'keysUnreadable' });
    expect(toFailureOutcome(new Error('store is away'))).to.include({ kind: 'reconnect', backoff: 'server' });
  });
});
