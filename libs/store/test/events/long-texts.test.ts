import { ensureDevice } from '@gateway/store/devices/devices';
import { openEvents } from '@gateway/store/events/open-events';
import { charactersIn, HELD_CHARACTERS } from '@gateway/store/events/reading/held-characters';
import { readEvents } from '@gateway/store/events/reading/read-events';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ADDRESS = { workspace: 'main', device: 'phone-1' };
const [LONGEST, LONG] = [65_536, 20_000];

describe('a page of events with long texts of people', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    await openEvents(space.store, ADDRESS.workspace);
    await ensureDevice(space.store, ADDRESS);
  });
  afterEach(() => space.close());

  async function writeTexts(lengths: readonly number[]): Promise<void> {
    const { store } = space;
    const ownership = (await takeDevice(store, ADDRESS, { owner: 'a', ttlMs: 60_000 }))!;
    for (const [n, length] of lengths.entries()) {
      const message = { platformId: `M${n}`, jid: '491511234561@s.whatsapp.net', text: '日'.repeat(length) };
      await recordReceived(store, ownership, { message, nowMs: Date.now() });
    }
    for (const outbox of await findFullOutboxes(store, ADDRESS.workspace)) await relayOutbox(store, outbox);
  }

  it('has one of the longest, or several that are as long together, and none is left out', async () => {
    await writeTexts([LONGEST, LONGEST, 5, LONG, LONG, LONG, LONG, LONGEST, 5]);
    const source = { store: space.store, workspace: ADDRESS.workspace };
    const pages: string[][] = [];
    for (let after = { entry: '0-0', offset: 0 }, isLast = false; !isLast; ) {
      const page = await readEvents(source, after, { limit: 1_000 });
      if ('oldest' in page) throw new Error('nothing is gone');
      const characters = page.rows.reduce((sum, { event }) => sum + charactersIn(event.data), 0);
      if (page.rows.length > 1) expect(characters).to.be.at.most(HELD_CHARACTERS);
      pages.push(page.rows.map(({ event }) => String(event.data.platformMessageId)));
      [after, isLast] = [page.next, page.isLast];
    }
    expect(pages).to.deep.equal([['M0'], ['M1'], ['M2', 'M3', 'M4', 'M5'], ['M6'], ['M7'], ['M8']]);
  });
});
