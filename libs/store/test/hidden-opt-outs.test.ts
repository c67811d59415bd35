import { LOG_START } from '@gateway/contracts/events/cursor';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { ensureDevice } from '@gateway/store/devices/devices';
import { openEvents } from '@gateway/store/events/open-events';
import { type LogPart, readLog } from '@gateway/store/events/read-log';
import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import { isOptedOut, joinOptOut, recordStart, recordStop } from '@gateway/store/workspace/hidden-opt-outs';
import {
  addOptOuts,
  countOptOuts,
  findOptOut,
  forgetStarts,
  listOptOuts,
  placeOf,
  removeOptOut,
} from '@gateway/store/workspace/opt-outs';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { renderEvents } from './support/render-events.js';

const AT_MS = 1_763_000_000_000;
const PHONE = '447700900001';
const NEW_PHONE = '447700900002';
const HIDDEN = '100000000000001@lid';

describe('opt-outs of people whose number is hidden', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, { workspace: 'main', device: 'default' });
  });
  afterEach(() => space.close());

  const stop = (person: { phone?: string; hiddenId?: string }, atMs = AT_MS) =>
    recordStop(space.store, 'main', { ...person, atMs });
  const start = (person: { phone?: string; hiddenId?: string }, atMs = AT_MS + 60_000) =>
    recordStart(space.store, 'main', { ...person, atMs });
  const join = () => joinOptOut(space.store, 'main', { phone: PHONE, hiddenId: HIDDEN });
  const isOut = (numbers: string[], hiddenId?: string) => isOptedOut(space.store, 'main', { numbers, hiddenId });
  const list = async () => (await listOptOuts(space.store, 'main', { limit: 100 })).map(placeOf);
  const count = () => countOptOuts(space.store, 'main');

  it('count although no number is known, and are no phone numbers', async () => {
    expect(await stop({ hiddenId: HIDDEN })).to.equal(true);
    expect(await stop({ hiddenId: HIDDEN })).to.equal(false);
    expect([await list(), await count()]).to.deep.equal([[HIDDEN], 1]);
    expect(await findOptOut(space.store, 'main', HIDDEN)).to.deep.equal({
      hiddenId: HIDDEN,
      source: 'reply',
      atMs: AT_MS,
    });
    expect(await findOptOut(space.store, 'main', '100000000000001'), 'the number of the same digits').to.equal(
      undefined,
    );
    expect(await isOut(['100000000000001'])).to.equal(false);
    expect(await isOut([PHONE])).to.equal(false);
  });

  it('are told of the number that turns out to be theirs, once, and as gone under the identifier, as the list has it', async () => {
    await openEvents(space.store, 'main');
    await stop({ hiddenId: HIDDEN });
    for (let times = 0; times < 2; times++) await join();
    const OTHER = '100000000000002@lid';
    await stop({ phone: NEW_PHONE });
    await stop({ hiddenId: OTHER });
    await joinOptOut(space.store, 'main', { phone: NEW_PHONE, hiddenId: OTHER });
    const { entries } = (await readLog(space.store, 'main', LOG_START, { limit: 100 })) as LogPart;
    const events = await renderEvents(space.store, 'main', entries);
    const told = events.map(({ event: { type, data } }) => [type.split('.')[1], ...(data.phones as string[])]);
    expect(told).to.deep.equal([
      ['added', HIDDEN],
      ['added', PHONE],
      ['removed', HIDDEN],
      ['added', NEW_PHONE],
      ['added', OTHER],
      ['removed', OTHER],
    ]);
    expect(events.every(({ event }) => event.data.source === 'reply')).to.equal(true);
    const listed = new Set<string>();
    for (const [what, person] of told) what === 'added' ? listed.add(person!) : listed.delete(person!);
    expect([...listed].sort(), 'who keeps a list by what is told').to.deep.equal((await list()).sort());
  });

  it('hold for a number that turns out to be theirs, which is on the list from then on as they came', async () => {
    await stop({ hiddenId: HIDDEN });
    expect(await isOut([PHONE], HIDDEN)).to.equal(true);
    expect(await isOut([PHONE])).to.equal(true);
    expect([await list(), await count()]).to.deep.equal([[PHONE], 1]);
    expect(await findOptOut(space.store, 'main', PHONE)).to.include({ source: 'reply', atMs: AT_MS });
  });

  it('are joined once, in either order of the two names', async () => {
    await stop({ hiddenId: HIDDEN });
    await addOptOuts(space.store, 'main', { numbers: [PHONE], source: 'cli', atMs: AT_MS });
    expect(await count()).to.equal(2);
    await join();
    await join();
    expect([await list(), await count()]).to.deep.equal([[PHONE], 1]);
    expect(await findOptOut(space.store, 'main', PHONE), 'as they came first').to.include({ source: 'cli' });
  });

  it('add nothing for people who have not opted out', async () => {
    await join();
    expect(await isOut([PHONE], HIDDEN)).to.equal(false);
    expect(await space.store.redis.exists(workspaceKeys(space.store.space, 'main').optOutBuckets)).to.equal(0);
  });

  it('hold for a new number of the same person', async () => {
    await stop({ phone: PHONE, hiddenId: HIDDEN });
    expect([await list(), await count()]).to.deep.equal([[PHONE], 1]);
    expect(await isOut([NEW_PHONE], HIDDEN)).to.equal(true);
    expect(await isOut([NEW_PHONE])).to.equal(false);
  });

  it('are taken back under either name, and by an operator', async () => {
    await stop({ hiddenId: HIDDEN });
    expect(await start({ hiddenId: HIDDEN })).to.equal(true);
    expect([await list(), await count()]).to.deep.equal([[], 0]);

    await stop({ phone: PHONE, hiddenId: HIDDEN });
    expect(await start({ hiddenId: HIDDEN }), 'by the identifier').to.equal(true);
    expect(await isOut([PHONE], HIDDEN)).to.equal(false);

    await stop({ hiddenId: HIDDEN });
    expect(await list(), 'known by their number by now').to.deep.equal([PHONE]);
    expect(await start({ phone: PHONE }), 'by the number').to.equal(true);

    await stop({ phone: PHONE, hiddenId: HIDDEN });
    expect(await removeOptOut(space.store, 'main', HIDDEN)).to.equal(true);
    expect(await isOut([PHONE], HIDDEN)).to.equal(false);
    expect(await removeOptOut(space.store, 'main', HIDDEN)).to.equal(false);
    expect([await list(), await count()]).to.deep.equal([[], 0]);
  });

  it('are not taken back by an older START, nor what an operator decided', async () => {
    await stop({ hiddenId: HIDDEN });
    expect(await start({ hiddenId: HIDDEN }, AT_MS - 60_000)).to.equal(false);
    await removeOptOut(space.store, 'main', HIDDEN);
    await addOptOuts(space.store, 'main', { numbers: [HIDDEN], source: 'cli', atMs: AT_MS });
    expect(await start({ hiddenId: HIDDEN })).to.equal(false);
    expect(await isOut([PHONE], HIDDEN)).to.equal(true);
  });

  describe('that come after a START that was written later', () => {
    const BEFORE = Date.now() - 120_000;
    const LATER = BEFORE + 60_000;
    const ways = {
      'by number': [{ phone: PHONE }, { phone: PHONE }],
      'by hidden identifier': [{ hiddenId: HIDDEN }, { hiddenId: HIDDEN }],
      'by both, and by number': [{ phone: PHONE, hiddenId: HIDDEN }, { phone: PHONE }],
      'by both, and by hidden identifier': [{ phone: PHONE, hiddenId: HIDDEN }, { hiddenId: HIDDEN }],
    };
    for (const [way, [startedAs, stoppedAs]] of Object.entries(ways)) {
      it(`are none, ${way}; the next STOP is`, async () => {
        for (const atMs of [LATER, BEFORE - 10_000]) expect(await start(startedAs!, atMs)).to.equal(false);
        expect(await stop(stoppedAs!, BEFORE)).to.equal(false);
        expect([await isOut([PHONE], HIDDEN), await count()]).to.deep.equal([false, 0]);
        expect(await stop(stoppedAs!, LATER), 'in the same second').to.equal(true);
        expect(await isOut([PHONE], HIDDEN)).to.equal(true);
        expect(await start(startedAs!, LATER + 1_000)).to.equal(true);
        expect(await stop(stoppedAs!, LATER + 2_000)).to.equal(true);
        expect([await isOut([PHONE], HIDDEN), await count()]).to.deep.equal([true, 1]);
      });
    }

    it('are some where an operator adds them, and once the START is forgotten', async () => {
      await start({ phone: PHONE }, LATER);
      await addOptOuts(space.store, 'main', { numbers: [PHONE], source: 'cli', atMs: BEFORE });
      expect(await isOut([PHONE])).to.equal(true);
      await removeOptOut(space.store, 'main', PHONE);
      expect(await forgetStarts(space.store, 'main', [PHONE])).to.equal(1);
      expect(await stop({ phone: PHONE }, BEFORE)).to.equal(true);
      await start({ hiddenId: HIDDEN }, LATER);
      expect(await forgetStarts(space.store, 'main', [HIDDEN.split('@')[0]!]), 'as the keys name them').to.equal(1);
    });
  });

  it('hold for a number that only keys pair with them, whose owner can take back nothing of it', async () => {
    await stop({ hiddenId: HIDDEN });
    const numbers = [PHONE];
    const isOutByKeys = () => isOptedOut(space.store, 'main', { numbers, storedHiddenId: HIDDEN });
    expect(await isOutByKeys()).to.equal(true);
    expect(await start({ phone: PHONE })).to.equal(false);
    expect(await isOutByKeys()).to.equal(true);
    expect(await list()).to.deep.equal([HIDDEN]);
  });

  it('are not given to a number that only keys pair with their writer', async () => {
    const ownership = (await takeDevice(
      space.store,
      { workspace: 'main', device: 'shop' },
      { owner: 'o', ttlMs: 60_000 },
    ))!;
    const writer = { phone: PHONE, isPhoneStored: true, hiddenId: HIDDEN, jid: HIDDEN } as const;
    for (const [platformId, text] of [
      ['A1', 'STOP'],
      ['A2', 'hello'],
    ] as const) {
      const message = { ...writer, platformId, text, atMs: AT_MS };
      await recordIncoming(space.store, ownership, { message, nowMs: AT_MS });
    }
    expect(await list()).to.deep.equal([HIDDEN]);
  });

  it('of the next owner of a number hold, although the one before comes back under another', async () => {
    await stop({ phone: PHONE, hiddenId: HIDDEN });
    await stop({ phone: PHONE }, AT_MS + 30_000);
    expect(await findOptOut(space.store, 'main', PHONE)).to.include({ atMs: AT_MS + 30_000 });
    await start({ phone: NEW_PHONE, hiddenId: HIDDEN }, AT_MS + 20_000);
    expect(await isOut([NEW_PHONE], HIDDEN), 'an older START').to.equal(true);
    await start({ phone: NEW_PHONE, hiddenId: HIDDEN });
    expect(await isOut([PHONE])).to.equal(true);
    expect(await isOut([NEW_PHONE], HIDDEN)).to.equal(false);
  });

  it('are listed beside numbers, each on one page', async () => {
    const hidden = Array.from({ length: 300 }, (_, i) => `${100_000_000_000_000 + i * 7}@lid`);
    const numbers = Array.from({ length: 300 }, (_, i) => String(447_700_000_000 + i * 7));
    await addOptOuts(space.store, 'main', { numbers: [...hidden, ...numbers], source: 'reply', atMs: AT_MS });
    await stop({ phone: PHONE, hiddenId: HIDDEN });
    const seen: string[] = [];
    for (let after: string | undefined, page = ['']; page.length > 0; after = page.at(-1)) {
      page = (await listOptOuts(space.store, 'main', { limit: 100, ...(after !== undefined && { after }) })).map(
        placeOf,
      );
      seen.push(...page);
    }
    expect(seen).to.have.length(601);
    expect(seen).to.have.members([...hidden, ...numbers, PHONE]);
  });

  it('take 40 bytes a name at most', async () => {
    const hidden = Array.from({ length: 40_000 }, (_, i) => `${100_000_000_000_000 + i * 7_919}@lid`);
    await addOptOuts(space.store, 'main', { numbers: hidden, source: 'reply', atMs: AT_MS });
    const keys = workspaceKeys(space.store.space, 'main');
    const buckets = Array.from({ length: 4_096 }, (_, bucket) => keys.optOuts(bucket));
    const sizes = await Promise.all(buckets.map((bucket) => space.store.redis.memory('USAGE', bucket)));
    expect(sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0) / hidden.length).to.be.below(40);
  });
});
