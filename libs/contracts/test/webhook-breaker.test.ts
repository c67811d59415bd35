import { type Breaker, type BreakerOutcome, isOver, nextBreaker, warned } from '@gateway/contracts/webhooks/breaker';
import { expect } from 'chai';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('the retry clock of a webhook', () => {
  const fail = (before: Breaker, nowMs: number, { status = 500, retryAfterMs = 0, random = 0.5 } = {}) =>
    nextBreaker(before, { attempt: { status }, retryAfterMs }, { nowMs, random });

  /** Attempts at an endpoint that stays dead, each at its time. */
  function live(hours: number, random: () => number): { attempts: number; atMs: number; outcomes: BreakerOutcome[] } {
    let nowMs = 0;
    let attempts = 0;
    let breaker: Breaker = {};
    const outcomes: BreakerOutcome[] = [];
    while (nowMs <= hours * HOUR_MS) {
      attempts++;
      const outcome = fail(breaker, nowMs, { random: random() });
      outcomes.push(outcome);
      if (outcome.status === 'disabled') break;
      breaker = outcome.breaker;
      nowMs = breaker.nextAttemptMs!;
    }
    return { attempts, atMs: nowMs, outcomes };
  }

  it('waits 5 s, 15 s, 1, 5 and 15 minutes, and then 15 each time', () => {
    let breaker: Breaker = {};
    const delays = Array.from({ length: 7 }, () => {
      ({ breaker } = fail(breaker, 0));
      return breaker.nextAttemptMs! / 1000;
    });
    expect(delays).to.deep.equal([5, 15, 60, 300, 900, 900, 900]);
    const last = { ...breaker, failures: 9 };
    expect(fail(last, 0, { random: 0 }).breaker.nextAttemptMs).to.equal(12 * MINUTE_MS);
    expect(fail(last, 0, { random: 1 }).breaker.nextAttemptMs).to.equal(18 * MINUTE_MS);
  });

  it('makes 110 attempts at most in a day', () => {
    for (let run = 0; run < 100; run++) expect(live(24, Math.random).attempts).to.be.within(90, 110);
  });

  it('tells after a quarter of an hour, after a day, and when it gives up after 72 hours', () => {
    const { outcomes, atMs } = live(100, () => 0.5);
    expect(outcomes.flatMap(({ tell }) => tell ?? [])).to.deep.equal(['failing', 'failing', 'disabled']);
    expect(atMs).to.be.within(72 * HOUR_MS, 72 * HOUR_MS + 15 * MINUTE_MS);
    const failing = outcomes.find(({ tell }) => tell === 'failing')!.breaker;
    expect(fail(failing, MINUTE_MS, { status: 204 })).to.deep.equal({
      status: 'active',
      breaker: {},
      tell: 'recovered',
    });
    expect(fail(outcomes[0]!.breaker, 1, { status: 200 })).to.deep.equal({ status: 'active', breaker: {} });
  });

  it('tells of it while its next request is due later, each time once', () => {
    const { breaker } = fail({}, HOUR_MS);
    expect(warned(breaker, HOUR_MS + 15 * MINUTE_MS - 1)).to.equal(undefined);
    const first = warned(breaker, HOUR_MS + 15 * MINUTE_MS);
    expect(first).to.deep.equal({ ...breaker, told: 1 });
    expect(warned(first!, 25 * HOUR_MS - 1)).to.equal(undefined);
    const second = warned(first!, 25 * HOUR_MS);
    expect(second).to.deep.equal({ ...breaker, told: 2 });
    expect(warned(second!, 99 * HOUR_MS)).to.equal(undefined);
    expect(fail(second!, 26 * HOUR_MS).tell, 'what was told is not told with the next failure').to.equal(undefined);
    expect(warned({}, HOUR_MS)).to.equal(undefined);
  });

  it('does not give up on what was not tried while the gateway was down', () => {
    const first = fail({}, 0);
    const second = fail(first.breaker, 100 * HOUR_MS);
    expect([second.status, second.tell]).to.deep.equal(['failing', 'failing']);
    expect(fail(second.breaker, 101 * HOUR_MS).status).to.equal('disabled');
  });

  it('counts from where the clock was set back', () => {
    const { breaker } = fail({}, 6 * HOUR_MS);
    const next = fail(breaker, 0);
    expect(next.breaker.sinceMs).to.equal(0);
    expect(fail(next.breaker, 15 * MINUTE_MS).tell).to.equal('failing');
  });

  it('is over when it is time, and where that is further away than any wait lasts: it is of another clock', () => {
    const nowMs = 9 * HOUR_MS;
    expect(isOver(undefined, nowMs)).to.equal(true);
    expect(isOver(nowMs, nowMs)).to.equal(true);
    expect(isOver(nowMs + 1, nowMs)).to.equal(false);
    const { nextAttemptMs } = fail({}, nowMs, { status: 503, retryAfterMs: 9 * HOUR_MS }).breaker;
    expect(isOver(nextAttemptMs, nowMs)).to.equal(false);
    expect(isOver(nextAttemptMs, nowMs - MINUTE_MS)).to.equal(true);
  });

  it('heeds Retry-After up to an hour, and believes a 410', () => {
    expect(fail({}, 0, { status: 429, retryAfterMs: 30_000 }).breaker.nextAttemptMs).to.equal(30_000);
    expect(fail({}, 0, { status: 503, retryAfterMs: 9 * HOUR_MS }).breaker.nextAttemptMs).to.equal(HOUR_MS);
    expect(fail({}, 0, { status: 503, retryAfterMs: 1 }).breaker.nextAttemptMs).to.equal(5_000);
    expect(fail({}, 0, { status: 410 })).to.deep.equal({ status: 'disabled', breaker: {}, tell: 'disabled' });
    expect(fail({}, 0, { status: 401 }).status).to.equal('failing');
    expect(fail({}, 0, { status: 302 }).status).to.equal('failing');
  });
});
