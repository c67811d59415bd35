import { deletedWorkspacesKey } from '@gateway/contracts/redis-keys';
import { toError } from '@gateway/runtime/errors';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import type { Store } from '@gateway/store/core/store';
import { WorkspaceGoneError } from '@gateway/store/core/workspace-gone-error';
import { ensureDevice, readDevice, renameDevice, setPace } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readTotals } from '@gateway/store/sends/read-totals';
import { deleteWorkspace } from '@gateway/store/workspace/delete-workspace';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import {
  createApiToken,
  createPassingToken,
  createProof,
  findApiToken,
  listApiTokens,
  revokeApiToken,
  rotateApiToken,
  setApiTokenScopes,
} from '@gateway/store/workspace/tokens/api-tokens';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { everything } from './support/everything.js';

const AT_ONCE = { logoutMs: 0, closingMs: 0 };
const NOTHING = { keys: [], entries: [] };
const PEOPLE = ['447700900001', '447700900002', '447700900003'];

describe('a workspace that is deleted, and the next one of its name', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  async function fill(): Promise<string> {
    const { store } = space;
    await createWorkspace(store, 'shop');
    const address = { workspace: 'shop', device: 'default' };
    await ensureDevice(store, address);
    const { token } = await createApiToken(store, 'shop', { name: 'test' });
    const nowMs = Date.now();
    await acceptSend(store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: PEOPLE },
      ...{ owner: token.keyId, requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    return token.keyId;
  }

  it('is not the next one of its name, for another run that deletes it at the same time and is slower', async () => {
    const { store } = space;
    await fill();
    const slower = deleteWorkspace(store, 'shop', { logoutMs: 0, closingMs: 1_000 });
    await deleteWorkspace(store, 'shop', AT_ONCE);
    expect(await createWorkspace(store, 'shop')).to.equal(true);
    const keyId = await fill();
    const before = await everything(space);
    expect(await slower.catch(({ message }: Error) => message)).to.equal(
      'workspace shop has been deleted by another run',
    );
    expect(await everything(space)).to.deep.equal(before);
    expect(await findApiToken(store, 'shop', keyId)).not.to.equal(undefined);
  });

  it('is free only behind the scan that proves it: what the next one of its name has is not found there', async () => {
    const { store } = space;
    await fill();
    let isOver = false;
    const makeAgain = async () => {
      while (!isOver && !(await createWorkspace(store, 'shop')));
    };
    const made = makeAgain();
    const { proof } = await deleteWorkspace(store, 'shop', AT_ONCE);
    isOver = true;
    await made;
    expect(proof.found).to.deep.equal(NOTHING);
  });

  it('takes what is queued out of the totals, which stay', async () => {
    const { store } = space;
    await fill();
    expect((await readTotals(store)).kinds.text.now.queued).to.equal(3);
    await deleteWorkspace(store, 'shop', AT_ONCE);
    expect((await readTotals(store)).kinds.text.now).to.include({ queued: 0, cancelled: 3 });
  });

  it('has no new tokens from its beginning on, also of who looked for it before', async () => {
    const { store } = space;
    await fill();
    const deleting = deleteWorkspace(store, 'shop', { logoutMs: 0, closingMs: 500 });
    await eventually(async () => (await store.redis.sismember(deletedWorkspacesKey(store.space), 'shop')) === 1);
    const late = await createApiToken(store, 'shop', { name: 'late' }).catch((thrown: unknown) => thrown);
    expect(late).to.be.instanceOf(WorkspaceGoneError);
    expect((await deleting).proof.found).to.deep.equal(NOTHING);
  });

  describe('gets nothing from a command of an operator that stood still meanwhile, nor does the next one', () => {
    const commands: Record<string, (store: Store, proof: { keyId: string }, token: string) => Promise<unknown>> = {
      'change-token': (store, _proof, token) => revokeApiToken(store, 'shop', token),
      'change-token of scopes': (store, _proof, token) => setApiTokenScopes(store, 'shop', token, ['read']),
      'set-limits': (store, proof) => setWorkspaceLimits(store, 'shop', { devices: 1 }, proof),
      'add-opt-outs': (store, from) =>
        addOptOuts(store, 'shop', { numbers: PEOPLE, source: 'cli', atMs: Date.now(), from }),
    };
    for (const [name, command] of Object.entries(commands)) {
      for (const isMadeAgain of [false, true]) {
        it(`${name}, ${isMadeAgain ? 'of the next one' : 'of the deleted one'}`, async () => {
          const { store } = space;
          const token = await fill();
          const proof = { keyId: await createProof(store, 'shop', 'operator') };
          let before: string[] = [];
          const run: RunScript = async (step, keys, args) => {
            if (step === name.split(' ')[0] && before.length === 0) {
              await deleteWorkspace(store, 'shop', AT_ONCE);
              if (isMadeAgain) await createWorkspace(store, 'shop');
              before = await everything(space);
            }
            return store.run(step, keys, args);
          };
          const answer = await command({ ...store, run }, proof, token).catch(toError);
          if (answer !== undefined) expect(answer).to.be.instanceOf(WorkspaceGoneError);
          expect(before).not.to.deep.equal([]);
          expect(await everything(space)).to.deep.equal(before);
        });
      }
    }

    it('a token of an operator, or of the console, nor a proof', async () => {
      const { store } = space;
      await fill();
      await deleteWorkspace(store, 'shop', AT_ONCE);
      const before = await everything(space);
      const soon = { name: 'console', expiresAtMs: Date.now() + 60_000 };
      for (const late of [
        () => createApiToken(store, 'shop', { name: 'late' }, { mustBeThere: true }),
        () => createPassingToken(store, 'shop', soon),
        () => createProof(store, 'shop', 'operator'),
      ]) {
        expect(await late().catch(toError)).to.be.instanceOf(WorkspaceGoneError);
        expect(await everything(space)).to.deep.equal(before);
      }
    });

    it('the pace and the name of a device', async () => {
      const { store } = space;
      await fill();
      const address = { workspace: 'shop', device: 'default' };
      const seen = { ...address, createdAtMs: (await readDevice(store, address))!.createdAtMs };
      const pace = { messagesPerMinute: 60, burst: 1, jitter: 0 };
      const change = async () => [await setPace(store, seen, pace), await renameDevice(store, seen, 'Former')];
      expect(await change()).to.deep.equal([true, true]);
      await deleteWorkspace(store, 'shop', AT_ONCE);
      await fill();
      expect(await change()).to.deep.equal([false, false]);
      expect(await readDevice(store, address))
        .to.include({ displayName: 'default' })
        .and.not.have.property('pace');
    });

    it('a token in place of another', async () => {
      const { store } = space;
      const old = await fill();
      let isOver = false;
      const run: RunScript = async (step, keys, args) => {
        if (step === 'write-always' && !isOver) {
          isOver = true;
          await deleteWorkspace(store, 'shop', AT_ONCE);
          await createWorkspace(store, 'shop');
        }
        return store.run(step, keys, args);
      };
      expect(await rotateApiToken({ ...store, run }, 'shop', old, {}).catch(toError)).to.be.instanceOf(
        WorkspaceGoneError,
      );
      expect(await listApiTokens(store, 'shop')).to.deep.equal([]);
      expect(await store.redis.keys(`${space.prefix}:{shop}:token*`)).to.deep.equal([]);
    });
  });
});
