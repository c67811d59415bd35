import { randomBytes } from 'node:crypto';
import { type DeviceAddress, parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { GatewayError, toError } from '@gateway/runtime/errors';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { resealAll } from '@gateway/store/core/sealed-values';
import { createStore } from '@gateway/store/core/store';
import { WorkspaceGoneError } from '@gateway/store/core/workspace-gone-error';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSendOnce } from '@gateway/store/sends/accepting/accept-send';
import {
  type FoundRepeat,
  findRepeat,
  forgetRepeat,
  keepAnswer,
  releaseRepeat,
} from '@gateway/store/sends/accepting/idempotency';
import { deleteWorkspace, findWorkspace } from '@gateway/store/workspace/delete-workspace';
import { createProof } from '@gateway/store/workspace/tokens/api-tokens';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { openRedisSpace, type RedisSpace, readKeyRings } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { askingTwice } from './support/asking-twice.js';

const first = { workspace: 'main', device: 'first' };
const second = { workspace: 'main', device: 'second' };
const CALLER = { owner: 't', callersKey: 'order-1', isBound: false };
const AT_ONCE = { logoutMs: 0, closingMs: 0 };
const fingerprint = Buffer.from('a digest');

describe('a key of a caller', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    for (const device of [first, second]) await ensureDevice(space.store, device);
  });
  afterEach(() => space.close());

  const find = (address = first) => findRepeat(space.store, { ...CALLER, address });
  async function findFree(address = first) {
    const found = await find(address);
    if (found.kind !== 'free') throw new Error(found.kind);
    return found;
  }
  const accept = (key: string, address = first, store = space.store) =>
    acceptSendOnce(
      store,
      address,
      {
        ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['4915112345670'] },
        ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
      },
      { key, fingerprint, answer: { success: true } },
    );

  it('stands for one send, and for its answer as it was kept last', async () => {
    const { key, claim } = await findFree();
    expect(await find()).to.deep.equal({ kind: 'claimed' });
    const { messageId } = (await accept(key))!;
    expect(await accept(key), 'a second one is refused').to.equal(undefined);
    await releaseRepeat(space.store, claim);
    await keepAnswer(space.store, { key, messageId: 'msg_another', answer: { success: false } });
    await forgetRepeat(space.store, key, 'msg_another');
    expect(await find()).to.deep.include({
      kind: 'used',
      first: { messageId, fingerprint, answer: { success: true } },
    });
    await keepAnswer(space.store, { key, messageId, answer: { success: true, late: 1 } });
    expect(await find()).to.have.nested.property('first.answer.late', 1);
    await forgetRepeat(space.store, key, messageId);
    expect((await find()).kind).to.equal('free');
  });

  it('stands for the send of a request whose step comes twice, as its first answer was lost, and that request has accepted it', async () => {
    const { key } = await findFree();
    const accepted = await accept(key, first, askingTwice(space.store));
    expect(accepted).to.have.property('messageId');
    expect(await accept(key), 'of another request').to.equal(undefined);
    expect(await space.store.redis.zcard(deviceKeys(space.store.space, first).openSends)).to.equal(1);
  });

  it('gives the same id again to the repeat of a send that Redis has lost, whichever encryption key is in front by then', async () => {
    const { key } = await findFree();
    const { contents, credentials } = readKeyRings(space.keySettings);
    const added = { id: 'added', key: randomBytes(32) };
    const rotated = createStore({
      redis: space.store.redis,
      space: space.store.space,
      keyRings: { credentials, contents: [added, ...contents] },
    });
    const { messageId } = (await accept(key))!;
    const lost = [key, ...Object.values(sendKeys(space.store.space, first, parseMessageId(messageId)!.tag))];
    const again = async () => {
      await space.store.redis.del(...lost);
      return (await accept(key, first, rotated))!.messageId;
    };
    expect(await again()).to.equal(messageId);
    await resealAll(rotated, { onProgress: () => {} });
    expect(await again(), 'when all is encrypted with it').to.equal(messageId);
  });

  it('stays where its send lies when the default device is another one', async () => {
    const { key } = await findFree();
    const { messageId } = (await accept(key))!;
    const found = await find(second);
    expect(found).to.deep.include({ kind: 'used', address: first });
    expect(found).to.have.nested.property('first.messageId', messageId);
  });

  it('does not move on the word of a master that was replaced, and lacks what was accepted under it since', async () => {
    const { key, claim } = await findFree();
    await releaseRepeat(space.store, claim);
    const { run } = space.store;
    const former: Partial<typeof space.store> = {
      run: async (name, ...rest) => (name === 'close-repeat' ? 1 : run(name, ...rest)),
      confirmWrites: async (of) => {
        if (of === key) throw new GatewayError({ code: 'not_confirmed', message: 'the master was replaced' });
      },
    };
    const found = findRepeat({ ...space.store, ...former }, { ...CALLER, address: second });
    expect(await found.catch(toError)).to.have.property('code', 'not_confirmed');
    const { messageId } = (await accept(key))!;
    expect(await find(second)).to.have.nested.property('first.messageId', messageId);
  });

  it('moves to another default device when it stands for nothing, and a request on its way to the old place is too late', async () => {
    const { key, claim } = await findFree();
    await releaseRepeat(space.store, claim);
    const moved = await findFree(second);
    expect(moved.address).to.deep.equal(second);
    expect(await accept(key), 'the old place is closed').to.equal(undefined);
    expect(await accept(moved.key, second)).to.have.property('messageId');
    expect(await find(first)).to.deep.include({ kind: 'used', address: second });
  });

  for (const step of ['place-repeat', 'claim-repeat', 'close-repeat', 'place-repeat of a move'] as const) {
    it(`leaves nothing where the workspace was deleted while its process stood still (${step})`, async () => {
      const { store } = space;
      const [at, next] = ['a', 'b'].map((device) => ({ workspace: 'shop', device }));
      await createWorkspace(store, 'shop');
      for (const device of [at!, next!]) await ensureDevice(store, device);
      const keyId = await createProof(store, 'shop', 'caller');
      const find = (address: DeviceAddress, by = store) => findRepeat(by, { ...CALLER, keyId, address });
      const isMove = step === 'close-repeat' || step.endsWith('move');
      if (isMove) await releaseRepeat(store, ((await find(at!)) as Extract<FoundRepeat, { kind: 'free' }>).claim);
      // The first place is that which holds, before a move.
      let passes = step.endsWith('move') ? 1 : 0;
      const run: RunScript = async (name, keys, args) => {
        if (name === step.split(' ')[0] && passes-- === 0) await deleteWorkspace(store, 'shop', AT_ONCE);
        return store.run(name, keys, args);
      };
      const found = await find(isMove ? next! : at!, { ...store, run }).catch(toError);
      if (step !== 'claim-repeat') expect(found).to.be.instanceOf(WorkspaceGoneError);
      const left = await findWorkspace(store, 'shop', { withName: true });
      expect(left.found).to.deep.equal({ keys: [], entries: [] });
    });
  }
});
