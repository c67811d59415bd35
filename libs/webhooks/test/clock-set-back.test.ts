import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 200 }, (_, i) => `49151123${String(40_000 + i)}`);

describe('what happens to a list, told to a webhook', () => {
  const { stage, create, accept, record, rows } = useLoggedEndpoint();

  it('waits no longer where the clock is set back', async () => {
    const run = await create({ gatherSeconds: 30 });
    stage.aheadMs = 3_600_000;
    await record(await accept(PEOPLE), 'acked', 0, 150);
    expect(await run()).to.equal('waiting');
    expect(rows()).to.deep.equal([]);
    stage.aheadMs = 0;
    await run();
    expect(rows().flat()).to.have.length(150);
  });
});
