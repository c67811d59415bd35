import { decideDuty } from '@gateway/connection/decide-duty';
import type { DesiredState, ObservedState } from '@gateway/contracts/devices/device-state';
import type { DeviceState } from '@gateway/store/devices/device-state';
import { expect } from 'chai';

const HOLD_AFTER_MS = 5_000;
const desire = (want: DesiredState['want']): DesiredState => ({ want, attemptId: 'this' });
const seen = (attemptId: string): ObservedState => ({ status: 'disconnected', attemptId, sinceMs: 0 });

type Case = [expected: string, when: string, state: Partial<DeviceState>, unheldForMs?: number];

const TABLE: Case[] = [
  ['none', 'nobody ever asked for anything', {}],
  ['link', 'a link is wanted', { desired: desire('linking') }],
  ['link', 'a link is wanted in place of an account', { desired: desire('linking'), hasKeys: true }],
  ['none', 'somebody links already', { desired: desire('linking'), leaseHeld: true }],
  ['unlink', 'no account is wanted and there is one', { desired: desire('unlinked'), hasKeys: true }],
  ['unlink', 'the caller who wants no account has no answer yet', { desired: desire('unlinked') }],
  ['unlink', 'only an older request was answered', { desired: desire('unlinked'), observed: seen('older') }],
  ['none', 'the account is gone and its caller was told', { desired: desire('unlinked'), observed: seen('this') }],
  [
    'unlink',
    'its caller was told, but keys are left',
    { desired: desire('unlinked'), observed: seen('this'), hasKeys: true },
  ],
  ['none', 'the owner is about to log out', { desired: desire('unlinked'), hasKeys: true, leaseHeld: true }],
  ['none', 'senders have had no time to claim a linked device', { desired: desire('linked'), hasKeys: true }, 4_999],
  ['hold', 'no sender has claimed a linked device', { desired: desire('linked'), hasKeys: true }, 5_000],
  ['none', 'a sender holds a linked device', { desired: desire('linked'), hasKeys: true, leaseHeld: true }, 60_000],
  ['none', 'a device is parked', { desired: desire('parked'), hasKeys: true }, 60_000],
  ['none', 'a linked device has no keys to log in with', { desired: desire('linked') }, 60_000],
];

describe('decideDuty', () => {
  for (const [expected, when, state, unheldForMs = 0] of TABLE) {
    it(`says ${expected} when ${when}`, () => {
      const whole = { leaseHeld: false, hasKeys: false, ...state };
      const duty = decideDuty(whole, { unheldForMs, holdAfterMs: HOLD_AFTER_MS });
      expect(duty).to.deep.equal(expected === 'none' ? { kind: 'none' } : { kind: expected, desired: state.desired });
    });
  }
});
