import { randomBytes } from 'node:crypto';
import { makeMediaId } from '@gateway/contracts/content/media-id';
import { readInbound } from '@gateway/store/inbound/received-messages';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';
import { runCli } from '../../cli/test/support/run-cli.js';

const ACCOUNT = '491700000041';
const ADDRESS = { workspace: 'main', device: 'default' };

describe('a file that a person sends, end to end', () => {
  const { space, simulator, gateway } = useGateway({ env: { SESSION_TTL_MS: '2000' } });
  const [friend] = makeNumbers(1) as [string];
  let token: string;

  before(async () => {
    await gateway.link(ACCOUNT);
    token = (await createApiToken(space.store, 'main', { name: 'media', scopes: ['events'] })).value;
  });

  /** The friend sends it; answers its id once the gateway has it. */
  async function receive(file: Buffer): Promise<string> {
    const draft = { to: ACCOUNT, text: 'Look', image: { base64: file.toString('base64') } };
    const url = `${simulator.adminUrl}/admin/phones/${friend}/messages`;
    const { id } = (await (await fetch(url, { method: 'POST', body: JSON.stringify(draft) })).json()) as { id: string };
    await eventually(() => readInbound(space.store, ADDRESS, { receivedId: id, nowMs: Date.now() }));
    return id;
  }
  const show = async (id: string) => {
    const url = `${gateway.baseUrl}/media/${makeMediaId(ADDRESS, id)}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
  };
  const isWhole = async (id: string, file: Buffer) => (await show(id)).body.equals(file);

  it('is fetched from the network; from the phone when it has expired there; and gone when neither has it', async () => {
    const file = randomBytes(2_000_000);
    const id = await receive(file);
    expect(await isWhole(id, file)).to.equal(true);
    simulator.network.media.expire({ areForgotten: false });
    expect(await isWhole(id, file)).to.equal(true);
    simulator.network.media.expire({ areForgotten: true });
    expect((await show(id)).status).to.equal(410);
  });

  it('is forgotten with the person', async () => {
    const id = await receive(randomBytes(100));
    const { stdout } = await runCli(space, ['--json', 'person', 'forget', friend]);
    expect(JSON.parse(stdout)).to.deep.include({ device: 'default', what: 'received', removed: 2 });
    expect((await show(id)).status).to.equal(404);
  });

  it('leaves no word, key or number in the logs', () => {
    const logs = JSON.stringify(gateway.logs());
    for (const secret of ['Look', friend, ACCOUNT, '/v/t62']) expect(logs.includes(secret), secret).to.equal(false);
  });
});
