import { sleep } from '@gateway/runtime/clock';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 200 }, (_, i) => `49151123${40_000 + i}`);
const TOOK_MS = 30;
const CONCURRENCY = 20;

describe('an endpoint that is told twenty events of a list at a time, and refuses all codes', () => {
  const { stage, create, accept, record, relay } = useLoggedEndpoint();

  it('is told as many at a time after a code that it has refused', async () => {
    const run = await create({ types: ['message.sent', 'otp.sent'], concurrency: CONCURRENCY });
    let [codes, under, most] = [0, 0, 0];
    const sendCode = async () => record(await accept([`44770090${1_000 + codes++}`], 'otp'), 'acked', 0, 1);
    stage.refuses = ({ type }) => type === 'otp.sent';
    let hasRefused = false;
    stage.take = async ({ type }) => {
      await sleep(TOOK_MS);
      if (type !== 'message.sent') hasRefused = true;
    };
    await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
    await sendCode();
    const wait = stage.take;
    // How many are under way together, of those that begin after the code was refused.
    stage.take = async (event) => {
      const counts = hasRefused && event.type === 'message.sent';
      if (counts) most = Math.max(most, ++under);
      await wait(event);
      if (counts) under--;
    };
    await relay();
    await run();
    expect(stage.events).to.have.length(PEOPLE.length);
    expect(most).to.be.at.least(CONCURRENCY - 2);
  });
});
