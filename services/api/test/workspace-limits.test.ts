import { RedisHeadroom } from '@gateway/api/sends/redis-headroom';
import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { readCapacity } from '@gateway/store/core/capacity';
import { listDevices } from '@gateway/store/devices/devices';
import { TAKEN_PART_MS, takeBacklog } from '@gateway/store/limits/take-backlog';
import { countOptOuts } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
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

  it('are so many messages that wait, whichever replicas take them at once', async () => {
    const workspace = 'rush';
    await createWorkspace(space.store, workspace);
    await linkDevice(space.store, { workspace, device: 'default' });
    const token = await tokenOf(workspace);
    await setWorkspaceLimits(space.store, workspace, { backlog: 50 });
    const replicas = await Promise.all([1, 2, 3].map(() => startTestApi(space)));
    const rush = () =>
      Promise.all(
        Array.from({ length: 12 }, async (_, i) => {
          const json = { to: people(10), text: 'hello' };
          return (await replicas[i % 3]!.call('POST', '/send', { token, json })).status;
        }),
      );
    const countOf = async () =>
      Number(await space.store.redis.get(deviceKeys(space.store.space, { workspace, device: 'default' }).backlog));
    const statuses = await rush();
    expect(statuses.filter((status) => status === 202)).to.have.length(5);
    expect([await countOf(), statuses.filter((status) => status === 503).length]).to.deep.equal([50, 7]);
    for (const replica of replicas) await replica.close();
  });

  it('count once what another replica wrote down while this one asked', async () => {
    const workspace = 'twice';
    await createWorkspace(space.store, workspace);
    await linkDevice(space.store, { workspace, device: 'default' });
    const token = await tokenOf(workspace);
    await setWorkspaceLimits(space.store, workspace, { backlog: 20 });
    const { store } = space;
    const [asked, written] = [defer<void>(), defer<void>()];
    const read = async () => {
      asked.resolve();
      await written.promise;
      return readCapacity(store);
    };
    const headroom = new RedisHeadroom(read, systemClock, (use) => takeBacklog(store, use));
    const [replica, another] = [await startTestApi(space, { headroom }), await startTestApi(space)];
    const send = async (from: typeof api) =>
      (await from.call('POST', '/send', { token, json: { to: people(10), text: 'hello' } })).status;
    const asking = send(replica);
    await asked.promise;
    expect(await send(another)).to.equal(202);
    written.resolve();
    expect(await asking).to.equal(202);
    expect(await send(replica), 'more than are allowed').to.equal(503);
    for (const each of [replica, another]) await each.close();
  });

  it('count what another replica has taken, and writes down late', async () => {
    const workspace = 'late';
    await createWorkspace(space.store, workspace);
    await linkDevice(space.store, { workspace, device: 'default' });
    const token = await tokenOf(workspace);
    await setWorkspaceLimits(space.store, workspace, { backlog: 20 });
    const [late, another] = [await startTestApi(space), await startTestApi(space)];
    const { run } = late.store;
    const [taken, writing] = [defer<void>(), defer<void>()];
    late.store.run = async (name, keys, args) => {
      if (name === 'accept-send') {
        taken.resolve();
        await writing.promise;
      }
      return run(name, keys, args);
    };
    const send = async (from: typeof api, count: number) =>
      (await from.call('POST', '/send', { token, json: { to: people(count), text: 'hello' } })).status;
    const sending = send(late, 15);
    await taken.promise;
    // Then this one adds up what waits, before the other one has written.
    const takenAtMs = systemClock.nowMs();
    await eventually(() => systemClock.nowMs() >= takenAtMs + 2 * TAKEN_PART_MS);
    expect(await send(another, 15)).to.equal(503);
    expect(await send(another, 5)).to.equal(202);
    writing.resolve();
    expect(await sending).to.equal(202);
    for (const each of [late, another]) await each.close();
  });

  it('have room for less, while a list for which others took too much waits for a second look', async () => {
    const workspace = 'waits';
    await createWorkspace(space.store, workspace);
    await linkDevice(space.store, { workspace, device: 'default' });
    const token = await tokenOf(workspace);
    await setWorkspaceLimits(space.store, workspace, { backlog: 100 });
    const { store } = space;
    const refused = defer<void>();
    const headroom = new RedisHeadroom(
      () => readCapacity(store),
      systemClock,
      async (use) => {
        const isTaken = await takeBacklog(store, use);
        if (!isTaken) refused.resolve();
        return isTaken;
      },
    );
    const [replica, another] = [await startTestApi(space, { headroom }), await startTestApi(space)];
    const send = async (from: typeof api, count: number) =>
      (await from.call('POST', '/send', { token, json: { to: people(count), text: 'hello' } })).status;
    expect(await send(replica, 1)).to.equal(202);
    expect(await send(another, 30)).to.equal(202);
    const list = send(replica, 80);
    await refused.promise;
    expect(await send(replica, 30)).to.equal(202);
    expect(await list).to.equal(503);
    for (const each of [replica, another]) await each.close();
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
