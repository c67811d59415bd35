import { BASE32 } from '@gateway/contracts/base32';
import { DEFAULT_WORKSPACE } from '@gateway/contracts/ids';
import { passingTokensKey, tokenIndexKey, tokenIndexPartKey } from '@gateway/contracts/redis-keys';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import { putBlob } from '@gateway/store/blobs/blobs';
import { ensureDevice } from '@gateway/store/devices/devices';
import { createApiToken, createPassingToken } from '@gateway/store/workspace/tokens/api-tokens';
import {
  findWorkspaceOfToken,
  findWorkspacesOfTokens,
  forgetWorkspacesOfTokens,
} from '@gateway/store/workspace/tokens/token-index';
import { createWorkspace, hasWorkspace, listWorkspaces } from '@gateway/store/workspace/workspaces';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

describe('workspaces in the store', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  it('are made once each; default is there from the start', async () => {
    const { store } = space;
    expect(await listWorkspaces(store)).to.deep.equal([{ name: DEFAULT_WORKSPACE }]);
    const made = await Promise.all(
      ['shop', 'shop', 'branch', DEFAULT_WORKSPACE].map((name) => createWorkspace(store, name)),
    );
    expect(made).to.deep.equal([true, false, true, false]);
    expect((await listWorkspaces(store)).map(({ name }) => name)).to.deep.equal([DEFAULT_WORKSPACE, 'branch', 'shop']);
    expect(
      await Promise.all(['shop', DEFAULT_WORKSPACE, 'nowhere'].map((name) => hasWorkspace(store, name))),
    ).to.deep.equal([true, true, false]);
  });

  it('have no names that would be something else in a key', async () => {
    for (const name of ['', 'Shop', 'a:b', 'a/b', '#3', '}{', '*', 'x'.repeat(41)]) {
      const error = await createWorkspace(space.store, name).catch((thrown: Error) => thrown.message);
      expect(error, name).to.equal(`not a name of a workspace: ${name}`);
    }
    expect(await listWorkspaces(space.store)).to.have.length(1);
  });

  it('have room for files each, whatever the others store', async () => {
    const [bytes, quotaBytes, nowMs] = [Buffer.alloc(1_000, 7), 1_500, Date.now()];
    const put = async (workspace: string, file: Buffer) =>
      (await putBlob(space.store, workspace, { bytes: file, quotaBytes, nowMs })).kind;
    for (const workspace of ['shop', 'other']) await ensureDevice(space.store, { workspace, device: 'default' });
    expect(await put('shop', bytes)).to.equal('stored');
    expect(await put('shop', bytes.subarray(1))).to.equal('full');
    expect(await put('other', bytes)).to.equal('stored');
  });

  it('are found by the key ids of their tokens, in one command', async () => {
    const [shop, other] = await Promise.all(
      ['shop', 'other'].map((name) => createApiToken(space.store, name, { name })),
    );
    const keyIds = [shop!.token.keyId, 'unknown', other!.token.keyId];
    expect(await Promise.all(findWorkspacesOfTokens(space.store, keyIds))).to.deep.equal(['shop', undefined, 'other']);
    expect(shop!.token.workspace).to.equal('shop');
  });

  it('are found where the key of all tokens is away, and so is that of a token from before there were parts', async () => {
    const { store } = space;
    const [{ token }, { token: old }] = [
      await createApiToken(store, 'shop', { name: 'new' }),
      await createApiToken(store, 'shop', { name: 'old' }),
    ];
    await store.redis.hdel(tokenIndexPartKey(store.space, old.keyId), old.keyId);
    expect(await findWorkspaceOfToken(store, old.keyId)).to.equal('shop');
    // Answers to every command with an error.
    await store.redis.del(tokenIndexKey(store.space));
    await store.redis.set(tokenIndexKey(store.space), 'away');
    for (const { keyId } of [token, old]) expect(await findWorkspaceOfToken(store, keyId)).to.equal('shop');
    // Of many, only where it may be the node of this key alone that is away.
    const many = await Promise.allSettled(findWorkspacesOfTokens(store, [token.keyId, 'unknown', old.keyId]));
    const [isThere, isNot] = isCluster(store.redis) ? ['shop', undefined] : ['away', 'away'];
    const answers = many.map((each) => (each.status === 'fulfilled' ? each.value : 'away'));
    expect(answers).to.deep.equal([isThere, isNot, isThere]);
  });

  it('are found where a part is away, which neither keeps a token from being made nor one that is there from its caller', async () => {
    const { store } = space;
    const away = async (keyId: string) => {
      await store.redis.del(tokenIndexPartKey(store.space, keyId));
      await store.redis.set(tokenIndexPartKey(store.space, keyId), 'away');
    };
    await createWorkspace(store, 'shop');
    for (const first of BASE32) await away(first);
    const { token } = await createApiToken(store, 'shop', { name: 'new' });
    expect(await findWorkspaceOfToken(store, token.keyId)).to.equal('shop');
    for (const name of ['ended', 'of the console'])
      await createPassingToken(store, 'shop', { name, expiresAtMs: Date.now() - 1 });
    const failure = await findWorkspaceOfToken(store, '0unknown').catch(String);
    expect(failure, 'whether there is one').to.include('WRONGTYPE');
    for (const first of BASE32) await store.redis.del(tokenIndexPartKey(store.space, first));
    await createPassingToken(store, 'shop', { name: 'ended', expiresAtMs: Date.now() - 1 });
    expect(await store.redis.zcard(passingTokensKey(store.space)), 'that have ended').to.equal(0);
  });

  it('leave nothing of a token behind that is deleted while a process brings it into its part', async () => {
    const { store } = space;
    const { keyId } = (await createApiToken(store, 'shop', { name: 'old' })).token;
    const part = tokenIndexPartKey(store.space, keyId);
    await store.redis.del(part);
    const run: typeof store.run = async (...step) => {
      const answer = await store.run(...step);
      await forgetWorkspacesOfTokens(store, [keyId]);
      await store.redis.hset(part, keyId, 'shop');
      return answer;
    };
    expect(await findWorkspaceOfToken({ ...store, run }, keyId)).to.equal('shop');
    expect(await store.redis.exists(part)).to.equal(0);
  });
});
