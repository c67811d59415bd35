import { isAhead } from '@gateway/testkit/chaos/mischief/fire-pace';
import { Progress } from '@gateway/testkit/chaos/progress';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

describe('the progress of a chaos run', () => {
  let said: string[];
  let progress: Progress;
  beforeEach(() => {
    said = [];
    progress = new Progress({ say: (line) => said.push(line), everyMs: 5, noNewsMs: 100 });
  });
  afterEach(() => progress.close());
  const end = () =>
    progress.failed.then(
      () => '',
      (error: Error) => error.message,
    );

  it('is said again and again', async () => {
    let out = 0;
    progress.enter('under fire', () => `${out++} of 100 are out`);
    await eventually(() => said.some((line) => /^under fire: [1-9]\d* of 100 are out$/.test(line)));
  });

  it('ends a run that gets no further, and names what it stands at', async () => {
    progress.enter('the rest', () => '7 wait');
    expect(await end()).to.match(/^nothing went on for \d+ ms; the rest: 7 wait$/);
  });

  it('does not end one that goes on', async () => {
    let out = 0;
    progress.enter('the rest', () => `${out++} are out`);
    await eventually(() => said.length > 60);
    expect(await Promise.race([end(), 'goes on'])).to.equal('goes on');
  });

  it('ends one of which a part failed beside its main course, with the reason', async () => {
    progress.fail(new Error('no answer to POST /otp'));
    expect(await end()).to.equal('no answer to POST /otp');
  });
});

describe('the pace of the fire', () => {
  it('leaves messages time to go out between blows, and fewer of a short list', () => {
    const now = { blows: 5, waiting: 1 };
    expect(isAhead({ messages: 2_000 }, { ...now, accepted: 49 })).to.equal(true);
    expect(isAhead({ messages: 2_000 }, { ...now, accepted: 50 })).to.equal(false);
    expect(isAhead({ messages: 120 }, { ...now, accepted: 9 })).to.equal(true);
    expect(isAhead({ messages: 120 }, { ...now, accepted: 10 })).to.equal(false);
  });

  it('waits for no message where all are out: what Redis is still to be hurt by comes', () => {
    expect(isAhead({ messages: 100 }, { blows: 70, waiting: 0, accepted: 101 })).to.equal(false);
  });
});
