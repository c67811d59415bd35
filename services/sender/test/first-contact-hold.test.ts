import type { MessengerSession } from '@gateway/messenger/session/session-types';
import { createLogger } from '@gateway/runtime/logs/logger';
import { FirstContactHold } from '@gateway/sender/holding/first-contact-hold';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

const MINUTE_MS = 60_000;

describe('the hold of messages to people to whom no token can be shown', () => {
  let nowMs: number;
  let calls: string[];
  let givers: Set<string>;
  let noted: string[];
  let session: { firstContacts: MessengerSession['firstContacts'] };
  let hold: FirstContactHold;
  beforeEach(() => {
    [nowMs, calls, givers, noted] = [0, [], new Set(), []];
    const mock: Partial<MessengerSession> = {
      firstContacts: 'awaitingHistory',
      findGivers: async (numbers) => new Set(numbers.filter((number) => givers.has(number))),
      noteRefusal: async (number) => void noted.push(number),
    };
    session = mock as MessengerSession;
    hold = new FirstContactHold({
      clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
      logger: createLogger({ service: 'test', level: 'error' }),
      onHeld: () => calls.push('held'),
      onLifted: () => calls.push('lifted'),
      onMet: (phone) => calls.push(`met ${phone}`),
    });
    hold.attach(session as MessengerSession);
  });

  it('is on while the history is awaited, and ends once, whatever session sees the end', () => {
    expect([hold.isOn, calls]).to.deep.equal([true, ['held']]);
    hold.detach();
    session.firstContacts = 'open';
    hold.tick();
    expect(hold.isOn, 'without a session').to.equal(true);
    hold.attach(session as MessengerSession);
    hold.tick();
    expect([hold.isOn, calls]).to.deep.equal([false, ['held', 'lifted']]);
  });

  it('keeps those who were refused for a missing token, when others are', async () => {
    session.firstContacts = 'open';
    hold.tick();
    expect(await hold.wasRefused('1', 463)).to.equal(false);
    session.firstContacts = 'refused';
    expect(await hold.wasRefused('2', 463)).to.equal(true);
    givers.add('3');
    expect(await hold.wasRefused('3', 463), 'one whose token was shown').to.equal(false);
    expect(await hold.wasRefused('4', 475), 'another limit').to.equal(false);
    expect(noted).to.deep.equal(['1', '2', '3']);
    expect(calls).to.deep.equal(['held', 'lifted', 'held']);
  });

  it('lets a person go who writes, once their token is there, and looks for it no longer than a minute', async () => {
    hold.metPerson('1');
    hold.metPerson('2');
    givers.add('1');
    await eventually(() => {
      hold.tick();
      nowMs += 250;
      return calls.includes('met 1');
    });
    expect([hold.holds('1'), hold.holds('2')], 'who was looked at before the token came').to.deep.equal([false, true]);
    nowMs += MINUTE_MS;
    let looks = 0;
    Object.assign(session, { findGivers: async () => new Set(looks++ === 0 ? [] : ['2']) });
    await eventually(() => {
      hold.tick();
      return looks > 0;
    });
    await new Promise(setImmediate);
    nowMs += 1_000;
    hold.tick();
    expect(looks).to.equal(1);
    expect(calls).to.deep.equal(['held', 'met 1']);
  });
});
