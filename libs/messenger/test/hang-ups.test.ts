import {
  hasSpoken,
  isHangUp,
  refusalOfCode,
  toDisconnectOutcome,
  toFailureOutcome,
} from '@gateway/messenger/codes/disconnect-outcomes';
import { disconnectPolicy } from '@gateway/messenger/codes/disconnect-policy';
import { KeysUnreadableError, TimeoutError, UntrustedServerError } from '@gateway/messenger/session/session-errors';
import { FencedError } from '@gateway/runtime/errors';
import { expect } from 'chai';

const boom = (statusCode: unknown, data?: unknown) =>
  Object.assign(new Error('ended'), { output: { statusCode }, data });
const outcomeOf = (error: unknown) => toDisconnectOutcome({ error, nowMs: 1_000 });

describe('what the end of a connection says', () => {
  it('is a hang-up when the other side ended it over something that it was told', () => {
    for (const error of [boom(428), boom(500), boom(599), boom(428, { tag: 'conflict' })]) {
      expect(isHangUp(error), String(error.output.statusCode)).to.equal(true);
    }
  });

  it('is none when it was silent, busy, or spoke of the account, the version or the connection', () => {
    for (const code of [408, 503, 401, 403, 405, 409, 411, 429, 440, 515]) {
      expect(isHangUp(boom(code)), String(code)).to.equal(false);
    }
    expect(isHangUp(new UntrustedServerError('no certificate'))).to.equal(false);
  });

  it('was spoken by the network when it came with words, and not with an error of the way', () => {
    expect(hasSpoken(boom(503, { tag: 'stream:error' }))).to.equal(true);
    for (const error of [boom(503, new Error('socket')), boom(503), boom(503, null), undefined, null]) {
      expect(hasSpoken(error)).to.equal(false);
    }
  });

  it('is a broken connection when it is about an ack that did not come, whatever its code', () => {
    const error = boom(401, { tag: 'ack', attrs: {} });
    expect(outcomeOf(error)).to.deep.equal({ kind: 'reconnect', code: 408, backoff: 'network' });
    expect(outcomeOf(boom(401, { tag: 'device_removed' }))).to.deep.equal({ kind: 'loggedOut', code: 401 });
  });

  it('counts the time of a ban only when it is a time to come', () => {
    for (const expire of ['0', '-5', 'Infinity', 'soon', undefined]) {
      expect(outcomeOf(boom(402, { expire }))).to.deep.equal({
        kind: 'temporarilyBanned',
        code: 402,
        untilMs: undefined,
      });
    }
    expect(outcomeOf(boom(402, { expire: '2' }))).to.have.property('untilMs', 3_000);
  });

  it('is believed about a code only when it is a whole number', () => {
    for (const code of ['x', 401.5, undefined]) {
      expect(outcomeOf(boom(code))).to.deep.equal({ kind: 'reconnect', code: 500, backoff: 'network' });
    }
  });

  it('refuses our version from every device with 405 alone', () => {
    const isForAll = (kind: 'clientOutdated' | 'unknown', code: number) =>
      disconnectPolicy({ kind, code }, 0).next === 'stopFleet';
    expect(isForAll('clientOutdated', 405)).to.equal(true);
    expect(isForAll('clientOutdated', 409)).to.equal(false);
    expect(isForAll('unknown', 405)).to.equal(false);
  });
});

describe('what a failure of ours means', () => {
  it('is to let go, to open again with the keys, or to connect again slowly', () => {
    expect(toFailureOutcome(new FencedError())).to.deep.equal({ kind: 'fenced' });
    expect(toFailureOutcome(new KeysUnreadableError('session', undefined))).to.deep.equal({ kind: 'keysUnreadable' });
    for (const error of [new Error('other'), undefined]) {
      expect(toFailureOutcome(error)).to.deep.equal({ kind: 'reconnect', code: 500, backoff: 'server' });
    }
  });
});

describe('a request for a code that failed', () => {
  it('says why the network gives out none', () => {
    for (const [data, why] of [
      [400, 'unclear'],
      ['429', 'later'],
      [452, 'never'],
    ] as const) {
      expect(refusalOfCode({ data })).to.deep.equal({ kind: 'codeRefused', code: Number(data), why });
    }
    expect(refusalOfCode({ data: 403 })).to.deep.equal({ kind: 'linkRefused', code: 403 });
  });

  it('is a refusal without a code when the answer cannot be read, and a broken connection when there was none', () => {
    expect(refusalOfCode(new TypeError('not an object'))).to.deep.equal({ kind: 'linkRefused', code: undefined });
    expect(refusalOfCode(new TimeoutError('a code', 1))).to.deep.equal({
      kind: 'reconnect',
      code: 408,
      backoff: 'network',
    });
  });

  it('says nothing when the connection failed: its end tells more', () => {
    for (const thrown of [undefined, null, {}, { data: 'x' }, new Error('closed')]) {
      expect(refusalOfCode(thrown)).to.equal(undefined);
    }
  });
});
