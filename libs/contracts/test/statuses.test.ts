import { deriveStatus } from '@gateway/contracts/devices/device-state';
import { paceDurationMs } from '@gateway/contracts/devices/pace';
import { normalizePhoneNumber } from '@gateway/contracts/people/normalize-phone-number';
import { maskPhoneNumber, spellingsOf } from '@gateway/contracts/people/phone-number';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { type StatusCounts, sendStatus } from '@gateway/contracts/sends/statuses';
import { expect } from 'chai';

const NONE: StatusCounts = { queued: 0, sent: 0, delivered: 0, read: 0, failed: 0, expired: 0, cancelled: 0 };

describe('the status of a send', () => {
  const cases: [Partial<StatusCounts>, string][] = [
    [{ queued: 3 }, 'queued'],
    [{ queued: 1, read: 2 }, 'sending'],
    [{ sent: 1, delivered: 5, read: 2 }, 'sent'],
    [{ delivered: 5, read: 2, failed: 1 }, 'delivered'],
    [{ read: 2, failed: 1 }, 'read'],
    [{ failed: 2, cancelled: 1 }, 'failed'],
    [{ expired: 2 }, 'expired'],
    [{ cancelled: 2 }, 'cancelled'],
  ];
  for (const [counts, expected] of cases) {
    it(`is ${expected} with ${JSON.stringify(counts)}`, () => {
      expect(sendStatus({ ...NONE, ...counts })).to.equal(expected);
    });
  }
});

describe('the status of a device', () => {
  const linked = { want: 'linked' as const };
  const open = { status: 'connected' as const, phone: '491511', name: 'Shop', sinceMs: 0 };

  it('is connected only while a process owns it', () => {
    expect(deriveStatus(linked, open, true)).to.deep.equal({ status: 'connected', phone: '491511', name: 'Shop' });
    expect(deriveStatus(linked, open, false)).to.deep.equal({ status: 'connecting', reason: 'owner_lost' });
  });
  it('says that no sender could have a linked device', () => {
    const noSender = { status: 'connecting', reason: 'no_sender' };
    expect(deriveStatus(linked, open, false, { hasSender: false })).to.deep.equal(noSender);
    expect(deriveStatus(linked, undefined, false, { hasSender: false })).to.deep.equal(noSender);
    expect(deriveStatus(linked, open, true, { hasSender: false })).to.include({ status: 'connected' });
    expect(deriveStatus({ want: 'unlinked' }, undefined, false, { hasSender: false })).to.include({
      status: 'disconnected',
    });
  });
  it('says why a device is not connected', () => {
    expect(deriveStatus(undefined, undefined, false)).to.deep.equal({ status: 'disconnected', reason: 'never_linked' });
    const gone = { status: 'disconnected' as const, reason: 'logged_out' as const, sinceMs: 0 };
    expect(deriveStatus({ want: 'unlinked' }, gone, false)).to.deep.equal({
      status: 'disconnected',
      reason: 'logged_out',
    });
    expect(deriveStatus({ want: 'linking' }, gone, true)).to.deep.equal({ status: 'connecting', reason: 'linking' });
    const taken = { status: 'disconnected' as const, reason: 'replaced' as const, attemptId: 'before', sinceMs: 0 };
    expect(deriveStatus({ want: 'parked' }, taken, false)).to.deep.equal({
      status: 'disconnected',
      reason: 'replaced',
    });
    const trial = { want: 'linking', attemptId: 'this', keepsKeys: '1' } as const;
    expect(deriveStatus(trial, taken, true)).to.deep.equal({ status: 'connecting', reason: 'restoring' });
    expect(deriveStatus({ ...trial, attemptId: 'before' }, taken, true)).to.include({ reason: 'linking' });
    const away = { status: 'connecting' as const, reason: 'network' as const, sinceMs: 0 };
    expect(deriveStatus(linked, away, true)).to.deep.equal({ status: 'connecting', reason: 'network' });
  });
  it('believes what was asked more than what was seen before', () => {
    expect(deriveStatus({ want: 'unlinked' }, open, true)).to.deep.equal({
      status: 'disconnected',
      reason: 'disconnected',
    });
  });
  it('falls back to the phone where the account has no name', () => {
    const { name: _, ...nameless } = open;
    expect(deriveStatus(linked, nameless, true)).to.include({ name: '491511' });
  });
});

describe('small words', () => {
  it('normalises what people type, and nothing else', () => {
    for (const text of ['+44 7700 900-123', '447700900123', '(44) 7700.900123'])
      expect(normalizePhoneNumber(text)).to.equal('447700900123');
    for (const text of ['', '+', '123456', '0447700900123', '1'.repeat(16), '44x7700900123', '++447700900123']) {
      expect(normalizePhoneNumber(text), text).to.equal(undefined);
    }
    expect(normalizePhoneNumber('+39 (06) 698 12345'), 'a zero that belongs to the number').to.equal('390669812345');
    for (const text of ['+44 (0) 7700 900123', '+44(0)7700900123', '0044 [0] 7700 900123', '+44 ( 0-) 7700 900123']) {
      expect(normalizePhoneNumber(text), text).to.equal(undefined);
    }
  });
  it('knows every way to write a number', () => {
    for (const [numbers, spellings] of [
      [
        ['5511987654321', '551187654321'],
        ['5511987654321', '551187654321'],
      ],
      [
        ['5215512345678', '525512345678'],
        ['525512345678', '5215512345678'],
      ],
      [
        ['5491112345678', '541112345678'],
        ['5491112345678', '541112345678'],
      ],
      [['447700900123'], ['447700900123']],
      [['551132345678'], ['551132345678']],
    ] as const) {
      for (const number of numbers) expect(spellingsOf(number), number).to.deep.equal(spellings);
    }
  });

  it('masks numbers', () => {
    expect(maskPhoneNumber('447700900123')).to.equal('447***23');
  });
  it('names errors', () => {
    expect([0, 1, 463].map(recipientErrorName)).to.deep.equal([undefined, 'not_on_messenger', 'network_463']);
  });
  it('estimates a paced list', () => {
    expect(paceDurationMs({ messagesPerMinute: 20, burst: 1, jitter: 0 }, 50)).to.equal(150_000);
  });
});
