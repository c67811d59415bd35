import { findSteadyPort } from '@gateway/testkit/redis-servers/steady-port';
import { expect } from 'chai';

describe('a steady port', () => {
  const { random } = Math;
  afterEach(() => {
    Math.random = random;
  });

  it('is given once, although who got it does not listen yet', async () => {
    const picks = [0.51, 0.51, 0.52];
    Math.random = () => picks.shift() ?? random();
    const [first, second] = [await findSteadyPort(), await findSteadyPort()];
    expect(first).to.not.equal(second);
  });
});
