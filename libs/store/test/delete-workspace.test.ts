import type { Workspace } from '@gateway/contracts/ids';
import { partsOfWorkspace } from '@gateway/contracts/keys-of-workspace';
import { deviceKeys, shardKeys, tokenLimitKey, workspaceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { FencedError, GatewayError, toError } from '@gateway/runtime/errors';
import { masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { keepUpload, putBlob } from '@gateway/store/blobs/blobs';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { WorkspaceGoneError } from '@gateway/store/core/workspace-gone-error';
import { readDefaultDevice, setDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { readDeviceState, requestLink, requestUnlink } from '@gateway/store/devices/device-state';
import {
  ensureDevice,
  listAllDevices,
  listDevices,
  readDevice,
  renameDevice,
  setPace,
} from '@gateway/store/devices/devices';
import { notePasskeyDemand } from '@gateway/store/devices/incidents/note-passkey-demand';
import { claimDevice, type Ownership, openSession } from '@gateway/store/fleet/ownership';
import { inboundSharesOf } from '@gateway/store/inbound/inbound-shares';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { readParkingKey } from '@gateway/store/webhooks/delivering/parked/parking-key';
import { deleteWorkspace, findWorkspace } from '@gateway/store/workspace/delete-workspace';
import { joinOptOut, recordStart, recordStop } from '@gateway/store/workspace/hidden-opt-outs';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import {
  createApiToken,
  createPassingToken,
  createProof,
  findApiToken,
} from '@gateway/store/workspace/tokens/api-tokens';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace, hasWorkspace } from '@gateway/store/workspace/workspaces';
import { takeDevice } from '@gateway/testkit/ownership';
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
    const nowMs = Date.now();
    for (const device of ['default', 'a', '7']) {
      const address = { workspace, device };
      await ensureDevice(store, address);
      await putBlob(store, workspace, { bytes: Buffer.alloc(1_000, 7), quotaBytes: 10_000, nowMs });
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

  it('has gone when replicas know that: what a failover brings back before is found, and its name is not free without them', async () => {
    const { store } = space;
    await fill('shop');
    const { limits } = workspaceKeys(store.space, 'shop');
    let confirmed = 0;
    let hasReplicas = false;
    let isKnown = true;
    const confirmWrites: typeof store.confirmWrites = async (_key, since) => {
      isKnown = since !== undefined;
      if (!hasReplicas) throw new GatewayError({ code: 'not_confirmed', message: 'no replica has it' });
      // The master that confirms is one that had not heard of all.
      if (++confirmed === 1) await store.redis.hset(limits, 'devices', 3);
    };
    const remove = () => deleteWorkspace({ ...store, confirmWrites }, 'shop', AT_ONCE);
    expect(await remove().catch((thrown: unknown) => thrown)).to.include({ code: 'not_confirmed' });
    expect(await createWorkspace(store, 'shop')).to.equal(false);
    hasReplicas = true;
    expect((await remove()).proof.found).to.deep.equal(NOTHING);
    expect(confirmed).to.equal(3 * masterNodes(store.redis).length);
    expect(isKnown, 'those who freed the name are asked').to.equal(true);
  });

  it('gets nothing from what was under way when it went, however late that comes, nor does the next one of its name', async () => {
    const { store } = space;
    const { token } = await fill('shop');
    const address = { workspace: 'shop', device: 'default' };
    const { accountEpoch } = await readDeviceState(store, address);
    const late = async () => {
      const { keyId } = token;
      const [nowMs, atMs] = [Date.now(), Date.now()];
      const numbers = ['447700900002'];
      const works = [
        () => putBlob(store, 'shop', { bytes: Buffer.alloc(1_000, 8), quotaBytes: 10_000, nowMs }),
        () =>
          acceptSend(store, address, {
            ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: numbers },
            ...{ owner: keyId, requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000, accountEpoch },
          }),
        () => ensureDevice(store, { workspace: 'shop', device: 'late' }, { keyId }),
        () =>
          requestLink(store, { ...address, device: 'b' }, { attemptId: 'x', method: 'qrCode', forceNew: false, keyId }),
        () => addOptOuts(store, 'shop', { numbers, source: 'api', atMs, from: { keyId } }),
        () => recordStop(store, 'shop', { phone: numbers[0], hiddenId: '13@lid', atMs }),
        () => recordStart(store, 'shop', { phone: numbers[0], hiddenId: '13@lid', atMs }).then(() => 'nothing'),
        () => joinOptOut(store, 'shop', { phone: numbers[0], hiddenId: '13@lid' }).then(() => 'nothing'),
      ];
      const refusals: unknown[] = [];
      for (const work of works) refusals.push(await work().catch(({ name }: Error) => name));
      return refusals;
    };
    await deleteWorkspace(store, 'shop', AT_ONCE);
    const gone = 'WorkspaceGoneError';
    expect(await late()).to.deep.equal([gone, 'Error', gone, gone, gone, gone, 'nothing', 'nothing']);
    expect((await findWorkspace(store, 'shop', { withName: true })).found).to.deep.equal(NOTHING);

    await createWorkspace(store, 'shop');
    await ensureDevice(store, address);
    const refusals = await late();
    expect(refusals.slice(1, 5)).to.deep.equal(['Error', gone, gone, gone]);
    expect((await readDeviceState(store, { ...address, device: 'b' })).desired).to.equal(undefined);
    expect(await listOpenSends(store, address)).to.deep.equal([]);
    expect(await listDevices(store, 'shop')).to.deep.equal(['default']);
  });

  for (const step of ['request-unlink', 'request-link']) {
    it(`has no part in the device of the next one of its name: ${step} that stood still meanwhile changes nothing there`, async () => {
      const { store } = space;
      const { keyId } = (await fill('shop')).token;
      const address = { workspace: 'shop', device: 'default' };
      const link = async () => {
        await requestLink(store, address, { attemptId: 'theirs', method: 'qrCode', forceNew: false });
        const { desired, creds } = deviceKeys(store.space, address);
        await store.redis.hset(desired, 'want', 'linked');
        await store.redis.set(creds, 'sealed');
      };
      const late: RunScript = async (name, keys, args) => {
        if (name === step && (await readDeviceState(store, address)).desired?.attemptId !== 'theirs') {
          await deleteWorkspace(store, 'shop', AT_ONCE);
          await createWorkspace(store, 'shop');
          await ensureDevice(store, address);
          await link();
        }
        return store.run(name, keys, args);
      };
      const asked = { attemptId: 'ours', keyId };
      const ask = (run: RunScript) =>
        step === 'request-link'
          ? requestLink({ ...store, run }, address, { ...asked, method: 'qrCode', forceNew: true })
          : requestUnlink({ ...store, run }, address, asked);
      for (const run of [late, store.run]) {
        expect(await ask(run).catch((thrown: unknown) => thrown)).to.be.instanceOf(WorkspaceGoneError);
        const { desired } = await readDeviceState(store, address);
        expect(desired).to.include({ want: 'linked', attemptId: 'theirs' });
      }
    });
  }

  it('has no part in the default device of the next one of its name: one that was chosen before comes too late', async () => {
    const { store } = space;
    await createWorkspace(store, 'shop');
    const keyId = await createProof(store, 'shop', 'operator');
    const run: RunScript = async (name, keys, args) => {
      await deleteWorkspace(store, 'shop', AT_ONCE);
      await createWorkspace(store, 'shop');
      return store.run(name, keys, args);
    };
    const chosen = setDefaultDevice({ ...store, run }, { workspace: 'shop', device: 'a' }, { keyId });
    expect(await chosen.catch(toError)).to.be.instanceOf(WorkspaceGoneError);
    expect(await readDefaultDevice(store, 'shop')).to.equal('default');
    await setDefaultDevice(
      store,
      { workspace: 'shop', device: 'b' },
      { keyId: await createProof(store, 'shop', 'operator') },
    );
    expect(await readDefaultDevice(store, 'shop')).to.equal('b');
    await deleteWorkspace(store, 'shop', AT_ONCE);
    expect(await createProof(store, 'shop', 'operator').catch(toError)).to.be.instanceOf(WorkspaceGoneError);
  });

  it('gets no piece of a file that was being written when it went', async () => {
    const { store } = space;
    await fill('shop');
    const bytes = Buffer.alloc(2_000_000, 9);
    let pieces = 0;
    const run: RunScript = async (name, keys, args) => {
      if (name === 'write-chunk' && ++pieces === 2) await deleteWorkspace(store, 'shop', AT_ONCE);
      return store.run(name, keys, args);
    };
    const put = putBlob({ ...store, run }, 'shop', { bytes, quotaBytes: 10_000_000, nowMs: Date.now() });
    expect(await put.catch((thrown: unknown) => thrown)).to.be.instanceOf(WorkspaceGoneError);
    expect(pieces).to.be.above(2);
    expect((await findWorkspace(store, 'shop', { withName: true })).found).to.deep.equal(NOTHING);
  });

  for (const step of ['make-device', 'keep-device']) {
    it(`gets no device that was being made when it went, nor does the next one of its name: ${step} comes late`, async () => {
      const { store } = space;
      const { keyId } = (await fill('shop')).token;
      await setWorkspaceLimits(store, 'shop', { devices: 4 });
      const late = { workspace: 'shop', device: 'late' };
      const run: RunScript = async (name, keys, args) => {
        if (name === step) {
          await deleteWorkspace(store, 'shop', AT_ONCE);
          await createWorkspace(store, 'shop');
        }
        return store.run(name, keys, args);
      };
      const { device } = deviceKeys(store.space, late);
      const made = ensureDevice({ ...store, run }, late, { keyId });
      expect(await made.catch((thrown: unknown) => thrown)).to.be.instanceOf(WorkspaceGoneError);
      expect(await store.redis.pttl(device), 'it is gone, or goes')
        .to.be.within(-2, 3_600_000)
        .and.not.equal(-1);
      expect(await listDevices(store, 'shop')).to.deep.equal([]);
      expect(await listAllDevices(store)).to.deep.equal([]);

      await ensureDevice(store, late);
      expect(await store.redis.pttl(device), 'this one stays').to.equal(-1);
      expect(await listAllDevices(store)).to.deep.equal([late]);
    });
  }

  it('gets no settings of its devices from a process that was about to write them', async () => {
    const { store } = space;
    await fill('shop');
    await deleteWorkspace(store, 'shop', AT_ONCE);
    const address = { workspace: 'shop', device: 'a' };
    await renameDevice(store, address, 'Shop');
    await setPace(store, address, { messagesPerMinute: 1, burst: 1, jitter: 0 });
    expect((await findWorkspace(store, 'shop', { withName: true })).found).to.deep.equal(NOTHING);
  });

  it('has no part in what the next one of its name knows of its devices: who linked one of them and stood still says no more of it', async () => {
    const { store } = space;
    await fill('shop');
    const address = { workspace: 'shop', device: 'a' };
    const take = (owner: string) => takeDevice(store, address, { owner, ttlMs: 60_000 }) as Promise<Ownership>;
    const before = await take('before');
    await deleteWorkspace(store, 'shop', AT_ONCE);
    await createWorkspace(store, 'shop');
    await notePasskeyDemand(store, await take('next'), true);
    expect(await notePasskeyDemand(store, before, false).catch(toError)).to.be.instanceOf(FencedError);
    expect(await readDevice(store, address)).to.include({ asksForPasskey: true });
  });

  it('gets no word of what its devices had received from a process that was about to say so', async () => {
    const { store } = space;
    await fill('shop');
    await fill('other');
    await deleteWorkspace(store, 'shop', AT_ONCE);
    const note = (workspace: Workspace) =>
      inboundSharesOf({ ...store }).note({ workspace, device: 'a' }, { bytes: 100, nowMs: Date.now() });
    for (const workspace of ['shop', 'other']) await note(workspace);
    expect((await findWorkspace(store, 'shop', { withName: true })).found).to.deep.equal(NOTHING);
    const { receivedBytes } = workspaceKeys(store.space, 'other');
    expect(await store.redis.hkeys(receivedBytes)).to.deep.equal(['a']);
    expect(await store.redis.pttl(receivedBytes)).to.be.within(1, 7 * 24 * 3_600_000);
  });

  it('gets no owner from a process that was about to claim one of its devices, and no place of a file from one that was uploading it', async () => {
    const { store } = space;
    await fill('shop');
    const address = { workspace: 'shop', device: 'a' };
    const shard = shardOf(address);
    await openSession(store, { shard, id: 'late' }, 60_000);
    await deleteWorkspace(store, 'shop', AT_ONCE);
    expect(await claimDevice(store, address, 'late')).to.equal('taken');
    const upload = { atMs: 1 } as unknown as Parameters<typeof keepUpload>[2]['upload'];
    await keepUpload(store, address, { blob: 'b', type: 'image', upload, untilMs: Date.now() + 60_000 });
    expect((await findWorkspace(store, 'shop', { withName: true })).found).to.deep.equal(NOTHING);
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
