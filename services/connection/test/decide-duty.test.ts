import { decideDuty } from '@gateway/connection/decide-duty';
import type { DesiredState, ObservedState } from '@gateway/contracts/devices/device-state';
import type { DeviceState } from '@gateway/store/devices/device-state';
import { expect } from 'chai';

const SENDER_WAIT_MS = 5_000;
const desire = (want: DesiredState['want']): DesiredState => ({ want, attemptId: 'this' });
const seen = (attemptId: string): ObservedState => ({ status: 'disconnected', attemptId, sinceMs: 0 });

const linkedAt = (more: Partial<ObservedState> = {}): Partial<DeviceState> => ({
  desired: desire('linked'),
  observed: { status: 'connecting', reason: 'restoring', attemptId: 'this', sinceMs: 0, ...more },
  hasKeys: true,
});

type Case = [expected: string, when: string, state: Partial<DeviceState>, nowMs?: number];

const TABLE: Case[] = [
  ['none', 'nothing was ever asked for', {}],
  ['link', 'a link is wanted', { desired: desire('linking') }],
  ['link', 'a link is wanted in place of an account', { desired: desire('linking'), hasKeys: true }],
  ['none', 'another process links already', { desired: desire('linking'), isOwned: true }],
  ['unlink', 'no account is wanted and there is one', { desired: desire('unlinked'), hasKeys: true }],
  ['unlink', 'the caller who wants no account has no answer yet', { desired: desire('unlinked') }],
  ['unlink', 'only an older request was answered', { desired: desire('unlinked'), observed: seen('older') }],
  ['none', 'the account is gone and its caller was told', { desired: desire('unlinked'), observed: seen('this') }],
  [
    'unlink',
    'its caller was told, but keys are left',
    { desired: desire('unlinked'), observed: seen('this'), hasKeys: true },
  ],
  ['none', 'the owner is about to log out', { desired: desire('unlinked'), hasKeys: true, isOwned: true }],
  ['none', 'senders have had no time to claim a newly linked device', linkedAt({ firstLogin: 'due' }), 4_999],
  ['complete', 'no sender has claimed a newly linked device', linkedAt({ firstLogin: 'due' }), 5_000],
  [
    'complete',
    'a device was newly linked while the clock of Redis was ahead',
    linkedAt({ firstLogin: 'due', sinceMs: 3_600_000 }),
    1_000,
  ],
  ['none', 'a sender has a newly linked device', { ...linkedAt({ firstLogin: 'due' }), isOwned: true }, 60_000],
  ['none', 'no sender has claimed a device that has been logged in before', linkedAt(), 60_000],
  [
    'none',
    'the network wants no login of a newly linked device yet',
    linkedAt({ firstLogin: 'due', reason: 'rate_limited', notBeforeMs: 60_000 }),
    59_999,
  ],
  ['none', 'a device is parked', { desired: desire('parked'), hasKeys: true }, 60_000],
  [
    'none',
    'a linked device has no keys to log in with',
    { ...linkedAt({ firstLogin: 'due' }), hasKeys: false },
    60_000,
  ],
];

describe('decideDuty', () => {
  for (const [expected, when, state, nowMs = 0] of TABLE) {
    it(`says ${expected} when ${when}`, () => {
      const whole = { isOwned: false, hasKeys: false, accountEpoch: 0, waitingMessages: 0, ...state };
      const duty = decideDuty(whole, { nowMs, senderWaitMs: SENDER_WAIT_MS });
      expect(duty).to.deep.equal(expected === 'none' ? { kind: 'none' } : { kind: expected, desired: state.desired });
    });
  }
});
