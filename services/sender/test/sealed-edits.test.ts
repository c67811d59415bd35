import { readInbound } from '@gateway/store/inbound/received-messages';
import { findOptedOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '491700000083';
const ADDRESS = { workspace: 'main', device: 'default' };

describe('what a person changes a message to, sealed by their app', () => {
  const { space, simulator, gateway } = useGateway({});
  let friend: string;
  let stranger: string;

  before(() => gateway.link(ACCOUNT));
  beforeEach(() => {
    [friend, stranger] = makeNumbers(2, 83 + Math.floor(Math.random() * 1_000)) as [string, string];
  });

  const write = async (from: string, draft: object): Promise<string> => {
    const response = await fetch(`${simulator.adminUrl}/admin/phones/${from}/messages`, {
      method: 'POST',
      body: JSON.stringify({ to: ACCOUNT, ...draft }),
    });
    return ((await response.json()) as { id: string }).id;
  };
  const kept = (receivedId: string) =>
    eventually(async () => (await readInbound(space.store, ADDRESS, { receivedId, nowMs: Date.now() })) ?? false);

  it('is read with the secret of that message', async () => {
    const id = await write(friend, { text: 'at nine' });
    const edit = await write(friend, { edit: { id }, text: 'at ten' });
    const content = { type: 'edited', to: { platformId: id } };
    expect(await kept(edit)).to.deep.include({ text: 'at ten', content });
    expect(await kept(edit)).not.to.have.property('sealedEdit');
  });

  it('is read also where that one came from an advertisement, and the phone gave it out', async () => {
    const id = await write(friend, { text: 'I saw your ad', phoneOnly: 'fanout' });
    await kept(id);
    expect(await kept(await write(friend, { edit: { id }, text: 'I saw your offer' }))).to.include({
      text: 'I saw your offer',
    });
  });

  it('may be a STOP', async () => {
    const id = await write(friend, { text: 'stp' });
    await write(friend, { edit: { id }, text: 'STOP' });
    await eventually(async () => (await findOptedOut(space.store, 'main', [friend])).size > 0);
  });

  it('stays sealed for a message that is not here, and for that of another person', async () => {
    const id = await write(friend, { text: 'at nine' });
    await kept(id);
    for (const about of [id, '3EB0NOTHERE']) {
      const edit = await write(stranger, { edit: { id: about }, text: 'at ten' });
      const content = { type: 'edited', to: { platformId: about }, isSealed: true };
      expect(await kept(edit)).to.deep.include({ text: '', content });
    }
  });
});
