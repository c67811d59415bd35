import type { Restriction } from '@gateway/contracts/devices/restriction';
import { WakeUp } from '@gateway/sender/scheduling/wake-up';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { ADA, BEN, useOpenScheduler } from './support/open-scheduler.js';

describe('a device that has nothing to send', () => {
  const { stage, open } = useOpenScheduler();
  /** For how long the scheduler meant to sleep. */
  let sleeps: number[];
  const { wait } = WakeUp.prototype;
  beforeEach(() => {
    sleeps = [];
    WakeUp.prototype.wait = function (ms) {
      sleeps.push(ms);
      return wait.call(this, ms);
    };
  });
  afterEach(() => {
    WakeUp.prototype.wait = wait;
  });
  const meansToSleep = (ms: number) =>
    eventually(() => sleeps.at(-1) === ms, { everyMs: 1, what: `sleep of ${ms} ms` });

  it('looks at its clock once a minute, and sends the next message at once', async () => {
    const { scheduler } = open();
    await meansToSleep(60_000);
    await stage.start(scheduler, await stage.accept([ADA]));
    expect(stage.sent.map(({ to }) => to)).to.deep.equal([ADA]);
    await meansToSleep(60_000);
  });

  it('looks once a second while a person waits for the end of a restriction, whose news it follows at once', async () => {
    let lock: Restriction | undefined = {
      kind: 'reach_out_time_lock',
      untilMs: stage.clock.nowMs() + 3_600_000,
    };
    stage.network.isAcquainted = () => false;
    stage.network.restriction = () => lock;
    const { scheduler } = open();
    await meansToSleep(60_000);
    scheduler.hasNews();
    await meansToSleep(1_000);
    await stage.start(scheduler, await stage.accept([BEN]));
    expect(stage.sent).to.deep.equal([]);
    lock = undefined;
    scheduler.hasNews();
    expect(await stage.sentTo(1)).to.deep.equal([BEN]);
    await meansToSleep(60_000);
  });
});
