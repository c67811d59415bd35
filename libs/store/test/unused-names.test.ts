import { deviceKeys } from '@gateway/contracts/redis-keys';
import { bucketOf, deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { forgetNames, type NameType } from '@gateway/store/workspace/people';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const OWN = '49100';
const [ALONE, IN_SESSION, IN_SESSION_BY_NUMBER, GAVE_TOKEN, GAVE_TOKEN_BY_NUMBER, UNREADABLE] = [
  ...['49101', '49102', '49103', '49104', '49105', '49106'],
] as [string, string, string, string, string, string];
const EVERYBODY = [OWN, ALONE, IN_SESSION, IN_SESSION_BY_NUMBER, GAVE_TOKEN, GAVE_TOKEN_BY_NUMBER, UNREADABLE];

/** The hidden identifier of each. */
const lidOf = (number: string) => number.slice(2);

describe('names of people without a session', () => {
  const { address, space, ownership } = useOwnedDevice();

  beforeEach(async () => {
    const pairs = EVERYBODY.flatMap((number): [string, string, string][] => [
      ['lid-mapping', number, lidOf(number)],
      ['lid-mapping', `${lidOf(number)}_reverse`, number],
      ['device-list', number, '0'],
    ]);
    const keys: [string, string, string][] = [
      ...pairs,
      ['session', `${lidOf(IN_SESSION)}_1.0`, 'x'],
      ['session', `${IN_SESSION_BY_NUMBER}.0`, 'x'],
      ['tctoken', `${lidOf(GAVE_TOKEN)}@lid`, 'x'],
      ['tctoken', `${GAVE_TOKEN_BY_NUMBER}@s.whatsapp.net`, 'x'],
      ['tctoken', `${lidOf(IN_SESSION)}@lid`, 'x'],
    ];
    await deviceKeyStore(space.store, ownership).commit({
      keys: keys.map(([type, id, value]) => ({ type, id, value: Buffer.from(JSON.stringify(value)) })),
      contacts: [`${lidOf(GAVE_TOKEN)}@lid`, `${lidOf(IN_SESSION)}@lid`],
    });
    const { keyBucket } = deviceKeys(space.store.space, address);
    const back = `${lidOf(UNREADABLE)}_reverse`;
    await space.store.redis.hset(keyBucket('lid-mapping', bucketOf(UNREADABLE)), UNREADABLE, 'not a sealed value');
    await space.store.redis.hset(keyBucket('lid-mapping', bucketOf(back)), back, 'not a sealed value');
  });

  /** As if all of them had been written long ago. */
  const forget = (type: NameType, ids: string[], beforeMs = Date.now() + 2 * DAY_MS) =>
    forgetNames(space.store, ownership, { type, ids, own: OWN, beforeMs });
  async function idsLeft(type: NameType): Promise<string[]> {
    const { base, keyBuckets } = deviceKeys(space.store.space, address);
    const buckets = (await space.store.redis.smembers(keyBuckets)).filter((name) => name.startsWith(`${type}:`));
    return (await Promise.all(buckets.map((name) => space.store.redis.hkeys(`${base}:keys:${name}`)))).flat().sort();
  }

  it('are forgotten in both directions; those of people with a session or a token stay, and our own', async () => {
    const before = await idsLeft('lid-mapping');
    expect(before).to.have.length(2 * EVERYBODY.length);
    expect(
      await forget(
        'lid-mapping',
        before.filter((id) => id.endsWith('_reverse')),
      ),
    ).to.equal(1);
    expect(await forget('lid-mapping', before), 'the other way is known still').to.equal(1);
    const gone = [ALONE, `${lidOf(ALONE)}_reverse`];
    expect(await idsLeft('lid-mapping')).to.deep.equal(before.filter((id) => !gone.includes(id)));
  });

  it('are forgotten with the list of their devices', async () => {
    expect(await forget('device-list', EVERYBODY)).to.equal(1);
    expect(await idsLeft('device-list')).to.deep.equal(EVERYBODY.filter((number) => number !== ALONE));
  });

  it('are no reason to keep a token: that goes, and its place in the index, where there is no session', async () => {
    expect(await forget('tctoken', await idsLeft('tctoken'))).to.equal(2);
    expect(await idsLeft('tctoken')).to.deep.equal([`${lidOf(IN_SESSION)}@lid`]);
    const { contactIndex } = deviceKeys(space.store.space, address);
    expect(await space.store.redis.smembers(contactIndex)).to.deep.equal([`${lidOf(IN_SESSION)}@lid`]);
  });

  it('stay while they are young', async () => {
    expect(await forget('lid-mapping', [ALONE], Date.now())).to.equal(0);
    expect(await forget('lid-mapping', [])).to.equal(0);
    expect(await idsLeft('lid-mapping')).to.have.length(2 * EVERYBODY.length);
  });
});
