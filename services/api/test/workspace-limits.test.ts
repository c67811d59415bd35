import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import { listDevices } from '@gateway/store/devices/devices';
import { createApiToken } from '@gateway/store/workspace/api-tokens';
import { countOptOuts } from '@gateway/store/workspace/opt-outs';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { expect } from 'chai';
import { addSender, linkDevice } from './support/device-owner.js';
import { startTestApi } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const OTHER = 'other';
const people = (count: number) => Array.from({ length: count }, (_, i) => `4477009000${10 + i}`);

describe('what an operator allows a workspace', () => {
  const { space, api } = useTestApi({ once: true, waits: { codeMs: 20, otpMs: 20 } });
  const tokenOf = async (workspace: string, device = 'default') =>
    (await createApiToken(space.store, workspace, { name: 'test', device, scopes: API_TOKEN_SCOPES })).value;

  it('are so many devices, whichever replicas are asked at once; those of others are not concerned', async () => {
    await addSender(space.store);
    const replica = await startTestApi(space, { waits: { codeMs: 20 } });
    await setWorkspaceLimits(space.store, 'shop', { devices: 3 });
    const tokens = await Promise.all(people(10).map((_, i) => tokenOf('shop', `device-${i}`)));
    const answers = await Promise.all(
      tokens.map((token, i) => (i % 2 === 0 ? api : replica).call('POST', '/connect', { token })),
    );
    const refused = answers.filter(({ status }) => status === 422);
    expect(refused.map(({ body }) => body.error)).to.deep.equal(Array(7).fill('Limit of devices reached'));
    expect(await listDevices(space.store, 'shop')).to.have.length(3);
    const again = answers.findIndex(({ status }) => status !== 422);
    expect((await api.call('POST', '/connect', { token: tokens[again]! })).status, 'one that is there').not.to.equal(
      422,
    );
    expect((await api.call('POST', '/connect', { token: await tokenOf(OTHER) })).status).not.to.equal(422);
    await replica.close();
  });

  it('are so many messages that wait, of all its devices, and one-time passwords beyond them', async () => {
    const workspace = 'queue';
    await createWorkspace(space.store, workspace);
    for (const device of ['a', 'b']) await linkDevice(space.store, { workspace, device });
    const [a, b] = [await tokenOf(workspace, 'a'), await tokenOf(workspace, 'b')];
    await setWorkspaceLimits(space.store, workspace, { backlog: 12 });
    // It has not asked yet how full Redis is, and so knows the limit.
    const replica = await startTestApi(space, { waits: { otpMs: 20 } });
    const send = async (token: string, count: number) =>
      (await replica.call('POST', '/send', { token, json: { to: people(count), text: 'hello' } })).status;
    expect([await send(a, 8), await send(b, 5), await send(b, 4), await send(a, 1)]).to.deep.equal([
      202, 503, 202, 503,
    ]);
    const otp = await replica.call('POST', '/otp', { token: a, json: { phone: people(1)[0], code: '123456' } });
    expect(otp.status, 'accepted').to.equal(202);
    await linkDevice(space.store, { workspace: OTHER, device: 'default' });
    expect(await send(await tokenOf(OTHER), 20)).to.equal(202);
    await replica.close();
  });

  it('are so many bytes of files', async () => {
    const workspace = 'files';
    await linkDevice(space.store, { workspace, device: 'default' });
    await setWorkspaceLimits(space.store, workspace, { fileBytes: 1_500 });
    const token = await tokenOf(workspace);
    const send = (bytes: number, fill: number) =>
      api.call('POST', '/send', {
        token,
        json: {
          to: people(1),
          attachment: { type: 'document', base64: Buffer.alloc(bytes, fill).toString('base64'), filename: 'offer.bin' },
        },
      });
    expect((await send(1_000, 1)).status).to.equal(202);
    expect((await send(1_000, 2)).status).to.equal(503);
    const tooLarge = await send(1_501, 3);
    expect([tooLarge.status, tooLarge.body.details]).to.deep.equal([
      413,
      [{ path: ['attachment'], message: 'no file over 1500 bytes fits into this workspace' }],
    ]);
  });

  it('are so many opt-outs', async () => {
    const workspace = 'list';
    await setWorkspaceLimits(space.store, workspace, { optOuts: 2 });
    const answer = await api.call('POST', '/opt-outs', { token: await tokenOf(workspace), json: { phone: people(5) } });
    expect([answer.status, answer.body.error]).to.deep.equal([422, 'List of opt-outs is full']);
    expect(await countOptOuts(space.store, workspace)).to.equal(2);
  });
});
