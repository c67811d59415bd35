import { defer } from '@gateway/runtime/deferred';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { numbers, useOpenScheduler } from './support/open-scheduler.js';

const RECIPIENTS = 250;

describe('the recipients of a list without a pace', () => {
  const { stage, open, recipients } = useOpenScheduler();

  it('are looked up two batches at a time, and the others when the first messages have gone out', async () => {
    const { scheduler, session } = open();
    const asked: number[] = [];
    const [answered, lookUp] = [defer<void>(), session.lookUp.bind(session)];
    session.lookUp = async (people) => {
      // One is asked about alone when it is claimed.
      if (people.length > 1) asked.push(people.length);
      await answered.promise;
      return lookUp(people);
    };
    const list = await stage.accept(numbers(RECIPIENTS));
    const ended = stage.start(scheduler, list);
    await eventually(() => asked.length > 1, { everyMs: 1 });
    expect(asked).to.deep.equal([100, 100]);
    answered.resolve();
    await ended;
    expect(asked).to.deep.equal([100, 100, 50]);
    expect(recipients().toSorted()).to.deep.equal(numbers(RECIPIENTS));
  });
});
