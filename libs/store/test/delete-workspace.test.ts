import type { Workspace } from '@gateway/contracts/ids';
import { partsOfWorkspace } from '@gateway/contracts/keys-of-workspace';
import { deviceKeys, shardKeys, tokenLimitKey, workspaceKeys } from '@gateway/contracts/redis-keys';
import { putBlob } from '@gateway/store/blobs/blobs';
import { requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readParkingKey } from '@gateway/store/webhooks/delivering/parking-key';
import { createApiToken, createPassingToken, findApiToken } from '@gateway/store/workspace/api-tokens';
import { deleteWorkspace, findWorkspace } from '@gateway/store/workspace/delete-workspace';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace, hasWorkspace } from '@gateway/store/workspace/workspaces';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { everything } from './support/everything.js';

const AT_ONCE = { logoutMs: 0, closingMs: 0 };
const NOTHING = { keys: [], entries: [] };

describe('a workspace that is deleted', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  /** With all that callers, people and processes leave there. */
  async function fill(workspace: Workspace) {
    const { store } = space;
    await createWorkspace(store, workspace);
    await setWorkspaceLimits(store, workspace, { devices: 3 });
    const { token } = await createApiToken(store, workspace, { name: 'app' });
    const passing = await createPassingToken(store, workspace, { name: 'page', expiresAtMs: Date.now() + 60_000 });
    await store.redis.set(tokenLimitKey(store.space, workspace, 'send', token.keyId), 1);
    await addOptOuts(store, workspace, { numbers: ['447700900001', '12@lid'], source: 'api', atMs: Date.now() });
    await putBlob(store, workspace, { bytes: Buffer.alloc(1_000, 7), quotaBytes: 10_000, nowMs: Date.now() });
    const nowMs = Date.now();
    for (const device of ['default', 'a', '7']) {
      const address = { workspace, device };
      await ensureDevice(store, address);
      await acceptSend(store, address, {
        ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['447700900001'] },
        ...{ owner: token.keyId, requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
      });
    }
    return { token, passing };
  }
  /** Totals are those of all workspaces together, and stay. */
  const others = async () => (await everything(space)).filter((line) => !/:totals(?::errors)? /.test(line));

  it('leaves nothing, on any node, and all that others have, whatever their names', async () => {
    const { store } = space;
    for (const name of ['shop-2', '7', 'default', 'sho']) await fill(name);
    const before = await others();
    const { token, passing } = await fill('shop');
    const found = await findWorkspace(store, 'shop', { withName: true });
    expect(found.found.keys.length).to.be.above(30);
    expect(found.found.entries.length).to.be.above(8);

    const { devices, deleted, proof, notLoggedOut } = await deleteWorkspace(store, 'shop', AT_ONCE);
    expect({ devices, notLoggedOut }).to.deep.equal({ devices: 3, notLoggedOut: [] });
    expect(deleted.keys).to.be.above(20);
    expect(proof.found).to.deep.equal(NOTHING);
    expect(proof.keysLookedAt).to.be.above(100);
    expect(await others()).to.deep.equal(before);
    for (const { keyId } of [token, passing.token])
      expect(await findApiToken(store, 'shop', keyId)).to.equal(undefined);
    expect(await hasWorkspace(store, 'shop')).to.equal(false);
  });

  it('may be deleted again, and made anew', async () => {
    const { store } = space;
    await fill('shop');
    await deleteWorkspace(store, 'shop', AT_ONCE);
    const again = await deleteWorkspace(store, 'shop', AT_ONCE);
    expect(again).to.deep.include({ devices: 0, deleted: { keys: 0, entries: 0 } });
    expect(await createWorkspace(store, 'shop')).to.equal(true);
    const error = await deleteWorkspace(store, 'default', AT_ONCE).catch(({ message }: Error) => message);
    expect(error).to.equal('workspace default cannot be deleted');
  });

  it('gets no key from a process that was about to deliver to one of its endpoints', async () => {
    const { store } = space;
    const [deleted, other] = await Promise.all([
      createActiveWebhook(store, 'https://example.com/', 'shop'),
      createActiveWebhook(store, 'https://example.com/', 'other'),
    ]);
    const key = await readParkingKey(store, 'other', other);
    await deleteWorkspace(store, 'shop', AT_ONCE);
    expect(await readParkingKey(store, 'shop', deleted)).to.have.length(32);
    expect((await findWorkspace(store, 'shop', { withName: true })).found).to.deep.equal(NOTHING);
    expect(await readParkingKey(store, 'other', other)).to.deep.equal(key);
  });

  it('takes its accounts with it, and says which ones no process has logged out', async () => {
    const { store } = space;
    await fill('shop');
    const address = { workspace: 'shop', device: 'a' };
    await requestLink(store, address, { attemptId: 'a', method: 'qrCode', forceNew: false });
    await store.redis.set(deviceKeys(store.space, address).creds, 'sealed');
    const { notLoggedOut, proof } = await deleteWorkspace(store, 'shop', AT_ONCE);
    expect(notLoggedOut).to.deep.equal(['shop/a']);
    expect(proof.found).to.deep.equal(NOTHING);
  });

  it('has every key that is named after it, new ones too', () => {
    const part = partsOfWorkspace({ prefix: 'gw' }, 'shop');
    const namesOf = (keys: object, ...args: unknown[]) =>
      Object.values(keys).map((key) => (typeof key === 'function' ? key(...args) : key) as string);
    const own = [
      ...namesOf(workspaceKeys({ prefix: 'gw' }, 'shop'), 'a', 1),
      ...namesOf(deviceKeys({ prefix: 'gw' }, { workspace: 'shop', device: 'd' }), 'a', 'b', 1),
      ...Object.values(shardKeys({ prefix: 'gw' }, 3)).flatMap((key) =>
        typeof key === 'function' ? [key('shop')] : [],
      ),
      'gw:{shop}:of-tomorrow',
      'gw:{#3}:shop/d:of-tomorrow',
      'gw:{#3}:activity:shop:errors:7',
    ];
    expect(own.filter((key) => part(key) !== 'whole')).to.deep.equal([]);
    const ofOthers = [
      'gw:{shop-2}:devices',
      'gw:{#3}:shop-2/d:device',
      'gw:{#3}:sends:shop-2',
      'gw:{#3}:due',
      'gw:schema',
    ];
    expect(ofOthers.map(part)).to.deep.equal(['nothing', 'nothing', 'places', 'places', 'nothing']);
    expect(part('gw:{#console}:users')).to.equal('nothing');
    expect(part('gw:{#3}:default/shop:device')).to.equal('nothing');
  });
});
