import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = ['4915112340000', '4915112340001'];

describe('a webhook that wants less', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();

  it('is told without what it does not want to know, and only of the types and devices it wants', async () => {
    const run = await create({ numbers: 'masked', types: ['message.sent', 'optout.added'] });
    const elsewhere = await create({ devices: ['another'] });
    const tag = await accept(PEOPLE);
    await record(tag, 'acked', 0, 2);
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    await run();
    expect(stage.events.map(({ type }) => type).sort()).to.deep.equal(['message.sent', 'message.sent', 'optout.added']);
    expect(JSON.stringify(stage.events)).not.to.include(PEOPLE[0]).and.not.to.include('447700900001');
    const { id } = stage.events.find(({ type }) => type === 'optout.added')!;
    expect(id, 'nothing that a number could be tried against').to.match(/^evt_main_\d+-\d+_added$/);
    stage.events = [];
    expect(await elsewhere()).to.equal('waiting');
    expect(stage.events).to.deep.equal([]);
  });
});
