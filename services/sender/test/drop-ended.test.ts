import { cancelSend } from '@gateway/store/sends/change-send';
import { readSend } from '@gateway/store/sends/read-send';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { expect } from 'chai';
import { ADA, BEN, CLEO, useOpenScheduler } from './support/open-scheduler.js';
import { ADDRESS } from './support/scheduler-stage.js';

describe('sends that have ended while a device has them', () => {
  const { stage } = useOpenScheduler();

  it('give up their places, also beside one that another version of the gateway has written meanwhile', async () => {
    const { store } = stage.space;
    // Without a session: all of them wait.
    const scheduler = stage.makeScheduler();
    const sends = [await stage.accept([ADA]), await stage.accept([BEN]), await stage.accept([CLEO])] as const;
    const [other, cancelled, open] = sends;
    for (const messageId of sends)
      await scheduler.sends.takeIn({ v: 1, ...ADDRESS, messageId, priority: 'bulk', requestId: 'r' });
    expect(scheduler.sends.inTurn()).to.have.length(3);

    await cancelSend(store, ADDRESS, cancelled);
    await rewriteHead(store, ADDRESS, other, { version: 99 });
    await scheduler.refresh();
    expect(scheduler.sends.inTurn().map(({ messageId }) => messageId)).to.deep.equal([open]);
    expect(stage.errors.splice(0)).to.have.length(1);
    const refusal = await readSend(store, ADDRESS, other).catch(({ code }) => code);
    expect(refusal, 'it is as it was').to.equal('unknown_version');
  });
});
