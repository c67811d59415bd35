import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 100 }, (_, i) => `49151123${String(40_000 + i)}`);

describe('the end of a list', () => {
  const { stage, create, accept, record, useDevice, rows } = useLoggedEndpoint();

  it('ends the wait of what came before it also for an endpoint that does not ask for it', async () => {
    const run = await create({ types: ['messages.updated'] });
    const [first, second] = [await accept(PEOPLE.slice(0, 20)), await accept(PEOPLE)];
    await record(first, 'acked', 0, 19);
    await record(second, 'acked', 0, 30);
    expect(await run()).to.equal('waiting');
    expect(stage.events).to.deep.equal([]);
    await record(first, 'acked', 19, 20);
    await run();
    expect(rows().map((each) => each.length)).to.deep.equal([50]);
    await record(second, 'acked', 30, 60);
    expect(await run()).to.equal('waiting');
    expect(rows(), 'what comes behind it waits').to.have.length(1);
  });

  it('of a device that it does not ask about changes nothing for an endpoint', async () => {
    const run = await create({ types: ['messages.updated'], devices: ['a'] });
    const other = await useDevice('b');
    const [own, theirs] = [await accept(PEOPLE), await other.accept(PEOPLE.slice(0, 20))];
    await record(own, 'acked', 0, 30);
    await other.record(theirs, 'acked', 0, 20);
    expect(await run()).to.equal('waiting');
    expect(stage.events).to.deep.equal([]);
    stage.aheadMs = 31_000;
    await run();
    expect(rows().map((each) => each.length)).to.deep.equal([30]);
  });
});
