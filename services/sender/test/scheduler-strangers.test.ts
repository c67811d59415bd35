import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import type { DeviceScheduler } from '@gateway/sender/scheduling/device-scheduler';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { ACCEPTED, ADA, BEN, CLEO, DORA, useOpenScheduler } from './support/open-scheduler.js';

const HELD = `queued ${ownErrorCode('new_contacts_held')}`;

describe('the scheduler of a device that writes to strangers', () => {
  const { stage, open, recipients, idsOf } = useOpenScheduler();

  describe('of an account that may not write to strangers', () => {
    let lock: { kind: 'reach_out_time_lock'; untilMs: number } | undefined;
    const strangers = [BEN, DORA];
    beforeEach(() => {
      lock = { kind: 'reach_out_time_lock', untilMs: stage.clock.nowMs() + 60_000 };
      const { network } = stage;
      network.isAcquainted = (number) => !strangers.includes(number);
      network.answer = ({ to }) => (lock && strangers.includes(to) ? { kind: 'restricted', code: 463 } : ACCEPTED);
    });

    async function hold(): Promise<{ scheduler: DeviceScheduler; list: string }> {
      let isAsked = false;
      // What it restricts is only known once a message was refused.
      stage.network.restriction = () => (isAsked ? lock : undefined);
      const { scheduler } = open();
      const list = await stage.accept([ADA, BEN, CLEO, DORA]);
      isAsked = true;
      await stage.start(scheduler, list);
      await eventually(async () => (await stage.statuses(list)).filter((status) => status === HELD).length === 2, {
        everyMs: 1,
      });
      return { scheduler, list };
    }

    it('holds strangers, sends to all others, and gives the place to other lists meanwhile', async () => {
      const { scheduler, list } = await hold();
      expect(await stage.statuses(list)).to.deep.equal(['sent', HELD, 'sent', HELD]);
      expect(scheduler.sends.inTurn(), 'no place').to.deep.equal([]);
      expect(scheduler.sends.has(list), 'but it is known').to.equal(true);
      await stage.start(scheduler, await stage.accept([CLEO]));
      expect(recipients().filter((to) => to === CLEO)).to.have.length(2);
    });

    it('sends to all of them, with the ids of before, when the network lifts it', async () => {
      const { scheduler, list } = await hold();
      lock = undefined;
      scheduler.hold.hasNews();
      await stage.pass(0, scheduler);
      await eventually(async () => (await stage.counts(list)).sent === 4, { everyMs: 1 });
      for (const stranger of strangers) expect(new Set(idsOf(stranger)).size).to.equal(1);
    });

    for (const isHidden of [false, true]) {
      it(`releases the person who writes${isHidden ? ', once their number is known,' : ''} and no other`, async () => {
        const { scheduler, list } = await hold();
        stage.network.isAcquainted = (number) => number !== DORA;
        stage.network.answer = ({ to }) => (to === DORA ? { kind: 'restricted', code: 463 } : ACCEPTED);
        scheduler.metPerson(isHidden ? { hiddenId: '17@lid' } : { phone: BEN });
        if (isHidden)
          scheduler.numbersKnown([
            { phone: BEN, hiddenId: '17@lid' },
            { phone: DORA, hiddenId: '18@lid' },
          ]);
        await eventually(async () => (await stage.counts(list)).sent === 3, { everyMs: 1 });
        expect(await stage.statuses(list)).to.deep.equal(['sent', 'sent', 'sent', HELD]);
      });
    }

    it('fails a stranger at the second refusal for which the network names no reason', async () => {
      const { scheduler } = open();
      stage.network.answer = () => ({ kind: 'restricted', code: 463 });
      stage.network.isGiver = () => true;
      const list = await stage.accept([BEN]);
      await stage.start(scheduler, list);
      expect(await stage.statuses(list)).to.deep.equal(['queued 463']);
      await stage.pass(2_000, scheduler);
      await eventually(async () => (await stage.counts(list)).failed === 1, { everyMs: 1 });
      expect(await stage.statuses(list)).to.deep.equal(['failed 463']);
    });
  });

  it('lets a stranger wait for the history whom the network refuses for the lack of a token', async () => {
    stage.network.answer = () => ({ kind: 'restricted', code: 463 });
    stage.network.isGiver = () => false;
    stage.network.firstContacts = () => (recipients().length > 0 ? 'refused' : 'open');
    const { scheduler } = open();
    const list = await stage.accept([ADA]);
    await stage.start(scheduler, list);
    const waits = `queued ${ownErrorCode('awaiting_history')}`;
    expect(await stage.statuses(list)).to.deep.equal([waits]);
    stage.network.firstContacts = () => 'open';
    stage.network.answer = () => ACCEPTED;
    await stage.pass(0, scheduler);
    await eventually(async () => (await stage.counts(list)).sent === 1, { everyMs: 1 });
    expect(new Set(idsOf(ADA)).size).to.equal(1);
  });

  it('lets those wait who gave no token while the history of the phone is awaited, and sends when it has come', async () => {
    let standing: 'awaitingHistory' | 'open' = 'awaitingHistory';
    Object.assign(stage.network, { firstContacts: () => standing, isGiver: (number: string) => number !== BEN });
    const { scheduler } = open();
    const list = await stage.accept([ADA, BEN]);
    await stage.start(scheduler, list);
    expect(await stage.statuses(list)).to.deep.equal(['sent', `queued ${ownErrorCode('awaiting_history')}`]);
    standing = 'open';
    await stage.pass(0, scheduler);
    await eventually(async () => (await stage.counts(list)).sent === 2, { everyMs: 1 });
  });
});
