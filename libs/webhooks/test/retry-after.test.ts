import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
/** Of the clock, between two looks. */
const STEP_SECONDS = 30;
const ASKED_SECONDS = 600;
const CHANGES = 64;

describe('an endpoint that asks for time (Retry-After)', () => {
  const endpoint = useEndpoint();
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
  /** When each request came that was refused. */
  let refusedMs: number[];
  beforeEach(() => {
    refusedMs = [];
    endpoint.keyOf = String;
  });
  const refuse = (isRefused: (told: readonly number[]) => boolean, seconds = ASKED_SECONDS) => {
    endpoint.answer = (_, res) => {
      if (!isRefused(endpoint.received.at(-1)!.numbers)) return 204;
      refusedMs.push(endpoint.nowMs);
      res.setHeader('retry-after', seconds);
      return 429;
    };
  };
  const rest = async (ms: number) => {
    for (const endMs = endpoint.nowMs + ms; endpoint.nowMs < endMs; endpoint.nowMs += STEP_SECONDS * SECOND_MS)
      await endpoint.deliverAll();
  };
  const expectPauses = (pauseMs: number) => {
    const pauses = refusedMs.slice(1).map((ms, i) => ms - refusedMs[i]!);
    for (const each of pauses) expect(each, `pauses: ${pauses.join()}`).to.be.at.least(pauseMs);
  };

  it('gets it from each request that it refuses, also from what is tried behind the third one', async () => {
    refuse(() => true);
    await endpoint.write(...numbers(CHANGES));
    await rest(2 * HOUR_MS);
    expect(refusedMs).to.have.lengthOf.at.least(6);
    expectPauses(ASKED_SECONDS * SECOND_MS);
    endpoint.answer = () => 204;
    await rest(HOUR_MS);
    expect(endpoint.told.toSorted((a, b) => a - b)).to.deep.equal(numbers(CHANGES));
  });

  it('gets it for what is put aside, and for each half of that', async () => {
    refuse((told) => told.includes(3));
    await endpoint.write(...numbers(CHANGES));
    await endpoint.write(CHANGES);
    await rest(3 * HOUR_MS);
    expect(refusedMs).to.have.lengthOf.at.least(8);
    expectPauses(ASKED_SECONDS * SECOND_MS);
    expect(endpoint.told).to.include.members(numbers(CHANGES).filter((number) => number !== 3));
  });

  it('is asked at once when it passes its test meanwhile', async () => {
    refuse(() => true, 3_600);
    await endpoint.write(...numbers(CHANGES));
    await rest(10 * HOUR_MS);
    expect(await endpoint.deliverAll()).to.equal('waiting');
    endpoint.answer = () => 204;
    expect(await endpoint.deliver()).to.equal('waiting');
    await endpoint.passTest();
    await endpoint.deliverAll();
    expect(endpoint.told.toSorted((a, b) => a - b)).to.include.members(numbers(CHANGES));
  });

  it('that passes its test, and fails then without asking for time, gets no more than any other', async () => {
    refuse(() => true, 3_600);
    await endpoint.write(1);
    await rest(10 * HOUR_MS);
    await endpoint.passTest();
    endpoint.answer = () => 503;
    await endpoint.deliverAll();
    endpoint.answer = () => 204;
    await rest(20 * 60 * SECOND_MS);
    expect(endpoint.told).to.deep.equal([1]);
  });

  it('gets an hour at most', async () => {
    refuse(() => refusedMs.length === 0, 24 * 3_600);
    await endpoint.write(1);
    await rest(HOUR_MS + STEP_SECONDS * SECOND_MS);
    expect(endpoint.told).to.deep.equal([1]);
  });
});
