import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { Store } from '@gateway/store/core/store';
import {
  anyKeyCursor,
  BUCKETS,
  bucketOf,
  countContactTokens,
  deviceKeyStore,
  findUnusedKeys,
  forgetIdentities,
  forgetSession,
  readAllKeys,
} from '@gateway/store/devices/keys/device-keys';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

const DAYS = 40;
const BEFORE_MS = Date.now() - 30 * 24 * 60 * 60 * 1000;
/** More than Redis hands out at once. */
const IN_ONE_BUCKET = 600;

describe('keys that are not used any more', () => {
  const { address, space, ownership } = useOwnedDevice();

  /** Whose keys were written 40 days ago. */
  function oldStore(): Store {
    const { vault } = space.store;
    const seal: typeof vault.seal = (...what) => {
      const sealed = vault.seal(...what);
      const day = 2 + sealed[1]!;
      sealed.writeUInt16BE(sealed.readUInt16BE(day) - DAYS, day);
      return sealed;
    };
    return { ...space.store, vault: { ...vault, seal } };
  }
  const commit = (store: Store, keys: [type: string, id: string][], contacts: string[] = []) =>
    deviceKeyStore(store, ownership).commit({
      keys: keys.map(([type, id]) => ({ type, id, value: Buffer.of(1) })),
      contacts,
    });
  /** Without a look at the values: with another day they cannot be opened. */
  async function left(): Promise<string[]> {
    const { base, keyBuckets } = deviceKeys(space.store.space, address);
    const { redis } = space.store;
    const found = (await redis.smembers(keyBuckets)).map(async (name) =>
      (await redis.hkeys(`${base}:keys:${name}`)).map((id) => `${name.split(':')[0]} ${id}`),
    );
    return (await Promise.all(found)).flat().sort();
  }

  it('are all found by a walk that is done in small steps, wherever it begins, and no others', async () => {
    const ids: string[] = [];
    for (let i = 0; ids.length < IN_ONE_BUCKET; i++) if (bucketOf(`${i}.0`) === 7) ids.push(`${i}.0`);
    const elsewhere = [0, 1, 2].map((i) => `elsewhere-${i}.0`);
    await commit(
      oldStore(),
      [...ids, ...elsewhere].map((id) => ['session', id]),
    );
    await commit(oldStore(), [['identity-key', 'other.0']]);
    await commit(space.store, [['session', 'young.0']]);
    const found = new Set<string>();
    let cursor = { bucket: BUCKETS - 3, at: '0' };
    const buckets = new Set<number>();
    for (let steps = 0; buckets.size < BUCKETS || cursor.at !== '0'; steps++) {
      expect(steps, 'steps').to.be.below(2 * BUCKETS);
      buckets.add(cursor.bucket);
      const walks = [{ type: 'session', cursor, limit: 50 }];
      const [step] = await findUnusedKeys(space.store, address, { walks, beforeMs: BEFORE_MS });
      expect(step!.ids.length).to.be.below(IN_ONE_BUCKET / 2);
      for (const id of step!.ids) found.add(id);
      cursor = step!.next;
    }
    expect([...found].sort()).to.deep.equal([...ids, ...elsewhere].sort());
    expect(anyKeyCursor()).to.include({ at: '0' });
    expect(anyKeyCursor().bucket).to.be.within(0, BUCKETS - 1);
  });

  it('are not those of today, which are read as they were written', async () => {
    await commit(space.store, [
      ['session', '1.0'],
      ['sender-key', '1@g.us::2_1::0'],
    ]);
    const read: unknown[] = [];
    for await (const { type, id, value } of readAllKeys(space.store, address)) read.push([type, id, ...value]);
    expect(read).to.have.deep.members([
      ['session', '1.0', 1],
      ['sender-key', '1@g.us::2_1::0', 1],
    ]);
  });

  it('go with the identity, and with the token of a contact unless that is younger', async () => {
    const old = ['1_1.0', '2_1.0', '3_1.0'].flatMap((id): [string, string][] => [
      ['session', id],
      ['identity-key', id],
    ]);
    await commit(oldStore(), [...old, ['tctoken', '1@lid']], ['1@lid', '2@lid']);
    await commit(space.store, [
      ['tctoken', '2@lid'],
      ['session', '3_1.0'],
    ]);
    const forget = (id: string, contact?: string) =>
      forgetSession(space.store, ownership, { id, contact, beforeMs: BEFORE_MS });
    expect(await countContactTokens(space.store, address)).to.equal(2);
    expect([await forget('1_1.0', '1@lid'), await forget('2_1.0', '2@lid'), await forget('3_1.0')]).to.deep.equal([
      true,
      true,
      false,
    ]);
    expect(await forget('1_1.0', '1@lid'), 'again').to.equal(false);
    expect(await left()).to.deep.equal(['identity-key 3_1.0', 'session 3_1.0', 'tctoken 2@lid']);
    expect(await space.store.redis.smembers(deviceKeys(space.store.space, address).contactIndex)).to.deep.equal([
      '2@lid',
    ]);
  });

  it('are identities, too, that have no session', async () => {
    await commit(oldStore(), [
      ['identity-key', '1.0'],
      ['identity-key', '2.0'],
      ['session', '2.0'],
      ['identity-key', '3.0'],
    ]);
    await commit(space.store, [['identity-key', '3.0']]);
    const forget = (ids: string[]) => forgetIdentities(space.store, ownership, { ids, beforeMs: BEFORE_MS });
    expect(await forget([])).to.equal(0);
    expect(await forget(['1.0', '2.0', '3.0', 'none.0'])).to.equal(1);
    expect(await left()).to.deep.equal(['identity-key 2.0', 'identity-key 3.0', 'session 2.0']);
  });
});
