import type { Doorbell } from '@gateway/contracts/doorbell';
import { ApiError } from '@gateway/runtime/errors';
import { type Wait, waitFor } from '@gateway/store/core/wait-for';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

const DEVICE = { workspace: 'main', device: 'phone-1' };
const LONG_MS = 3_600_000;

describe('who waits for a result of another process', () => {
  let listeners: Set<(bell: Doorbell) => void>;
  let looks: number;
  let result: string | undefined;
  /** By the clock of who waits, which stands still unless a test moves it. */
  let passedMs: number;
  let gone: AbortController;
  /** Between a look and its answer. */
  let duringLook: () => void;
  beforeEach(() => {
    [listeners, looks, result, passedMs, gone] = [new Set(), 0, undefined, 0, new AbortController()];
    duringLook = () => {};
  });

  const wait = (options: Partial<Wait<string>> = {}) => {
    const doorbells = {
      on: (listener: (bell: Doorbell) => void) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
    const look = async () => {
      looks += 1;
      const found = result;
      duringLook();
      return found;
    };
    const clock = { nowMs: () => passedMs, monotonicMs: () => passedMs };
    const asked = { topics: ['sends', 'observed'], timeoutMs: LONG_MS, everyMs: LONG_MS, signal: gone.signal } as const;
    return waitFor({ clock, doorbells }, DEVICE, { ...asked, look, ...options });
  };
  const ring = (bell: Partial<Doorbell> = {}) => {
    for (const listener of listeners) listener({ topic: 'sends', ...DEVICE, ...bell });
  };
  const hasLooked = (times: number) => eventually(() => looks >= times, { everyMs: 1, what: `look ${times}` });
  /** All that follows from what has happened has happened. */
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

  it('gets one that is there at once, and listens no more', async () => {
    result = 'there';
    expect(await wait()).to.equal('there');
    expect([looks, listeners.size]).to.deep.equal([1, 0]);
  });

  it('looks at each doorbell of the device that may announce it, and at no other', async () => {
    const found = wait();
    await hasLooked(1);
    await settled();
    for (const other of [
      { topic: 'questions' },
      { workspace: 'other' },
      { device: 'phone-2' },
    ] as Partial<Doorbell>[]) {
      ring(other);
      await settled();
      expect(looks, JSON.stringify(other)).to.equal(1);
    }
    ring();
    await hasLooked(2);
    await settled();
    expect(looks, 'once for each').to.equal(2);
    result = 'there';
    ring({ topic: 'observed' });
    expect(await found).to.equal('there');
    expect([looks, listeners.size]).to.deep.equal([3, 0]);
  });

  it('hears a doorbell that rings while it looks', async () => {
    duringLook = () => {
      if (looks === 1) ring();
      result = 'there';
    };
    expect(await wait()).to.equal('there');
    expect(looks).to.equal(2);
  });

  it('looks now and then without any doorbell, too', async () => {
    const found = wait({ everyMs: 1 });
    await hasLooked(3);
    result = 'there';
    expect(await found).to.equal('there');
  });

  it('gets nothing when the time is over, after a last look, and waits no longer than that', async () => {
    const found = wait({ timeoutMs: 5_000 });
    await hasLooked(1);
    await settled();
    passedMs = 4_999;
    ring();
    await hasLooked(2);
    // The millisecond that is left passes.
    await hasLooked(3);
    passedMs = 5_000;
    expect(await found).to.equal(undefined);
    expect(listeners.size).to.equal(0);
  });

  it('takes what a last look finds at the end of its time', async () => {
    const found = wait({ timeoutMs: 5_000 });
    await hasLooked(1);
    await settled();
    [passedMs, result] = [5_000, 'there'];
    ring();
    expect(await found).to.equal('there');
  });

  it('ends with 503 when the caller is gone, before or meanwhile, and says why', async () => {
    const failure = (found: Promise<unknown>) => found.catch((thrown: unknown) => thrown as ApiError);
    const found = failure(wait());
    await hasLooked(1);
    await settled();
    const why = new Error('the caller hung up');
    gone.abort(why);
    for (const error of [await found, await failure(wait())]) {
      expect(error).to.be.instanceOf(ApiError);
      expect(error).to.include({ code: 'unavailable', cause: why });
    }
    expect([looks, listeners.size], 'who is gone does not look').to.deep.equal([1, 0]);
  });

  it('fails with the look that fails, and listens no more', async () => {
    const defect = new Error('it cannot be read');
    const error = await wait({ look: () => Promise.reject(defect) }).catch((thrown: unknown) => thrown);
    expect(error).to.equal(defect);
    expect(listeners.size).to.equal(0);
  });
});
