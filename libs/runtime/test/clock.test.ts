import { sleep, systemClock } from '@gateway/runtime/clock';
import { expect } from 'chai';

describe('sleep', () => {
  it('ends at once when its signal is aborted', async () => {
    const controller = new AbortController();
    const startedMs = systemClock.monotonicMs();
    const sleeping = sleep(60_000, controller.signal).catch((error: Error) => error.name);
    controller.abort();
    expect(await sleeping).to.equal('AbortError');
    expect(systemClock.monotonicMs() - startedMs).to.be.below(5_000);
  });

  it('ends by itself', async () => {
    await sleep(1);
  });
});
