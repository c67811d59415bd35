import type { ChangeData } from '@gateway/contracts/events/events';
import { parseReaderCursor, sayReaderCursor } from '@gateway/contracts/events/reader-place';
import { parseMessageId } from '@gateway/contracts/ids';
import {
  allShardsIn,
  hasShard,
  NO_SHARDS,
  SHARDS,
  shardsIn,
  toShardSet,
  withoutShards,
} from '@gateway/contracts/shards';
import { openEvents } from '@gateway/store/events/open-events';
import { readEvents } from '@gateway/store/events/reading/read-events';
import { boundLog, relayOutbox } from '@gateway/store/events/relay-outbox';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { Random } from '@gateway/testkit/chaos/random';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { takeDevice } from '@gateway/testkit/ownership';
import { expect } from 'chai';
import { useAwayDevices } from '../support/use-away-devices.js';
import { useOwnedDevice } from '../support/use-owned-device.js';

const DEVICES = ['b', 'c', 'd'];
const PEOPLE = Array.from({ length: 700 }, (_, i) => `49151123${40_000 + i}`);

describe('who reads a log while nodes of Redis are away that have some devices', () => {
  const { space } = useOwnedDevice();
  const away = useAwayDevices(space);
  beforeEach(() => openEvents(space.store, 'main'));

  async function sendFrom(device: string, recipients: string[]) {
    const address = { workspace: 'main', device };
    const owner = (await takeDevice(space.store, address, { owner: 'b', ttlMs: 60_000 }))!;
    const nowMs = Date.now();
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients },
      ...{ owner: 't', requestId: 'order-1', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    const { tag } = parseMessageId(messageId)!;
    return async (from: number, to: number) => {
      const events = Array.from({ length: to - from }, (_, i) => ({
        ...{ recipient: from + i, part: 0 },
        event: 'acked' as const,
      }));
      await recordResults(space.store, owner, { tag, nowMs: Date.now(), events });
      for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
    };
  }

  /** As callers have it. @param filter.limit of a page. */
  function startReading(types: string[], limit: number) {
    let cursor = '0';
    const heard: string[] = [];
    const longest = { cursor: 0 };
    const readPage = async () => {
      const page = await readEvents({ store: space.store, workspace: 'main' }, parseReaderCursor(cursor)!, {
        ...{ types, limit },
      });
      if ('oldest' in page) {
        heard.push('gone');
        cursor = sayReaderCursor(page.oldest);
        return false;
      }
      for (const { event } of page.rows) {
        const rows = (event.data.changes ?? [event.data]) as ChangeData[];
        for (const { index } of rows) heard.push(`${event.device} ${index}`);
      }
      const next = sayReaderCursor(page.next);
      expect(sayReaderCursor(parseReaderCursor(next)!)).to.equal(next);
      longest.cursor = Math.max(longest.cursor, next.length);
      // Each event has its own place, too.
      const last = page.rows.at(-1);
      if (last) expect(sayReaderCursor(parseReaderCursor(sayReaderCursor(last.place))!)).to.be.a('string');
      cursor = next;
      return page.isLast;
    };
    const read = async () => {
      while (!(await readPage()));
    };
    return { heard, longest, read, readPage, from: (place: string) => (cursor = place) };
  }

  it('hears of the others, and of these from where they were passed once they are back', async () => {
    const [ofC, ofB] = [await sendFrom('c', PEOPLE), await sendFrom('b', PEOPLE)];
    const reader = startReading(['messages.updated'], 1_000);
    await ofB(0, 2);
    await reader.read();
    away.add('b');
    await ofB(2, 4);
    await ofC(0, 2);
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    await reader.read();
    expect(reader.heard).to.deep.equal(['b 0', 'b 1', 'c 0', 'c 1']);
    await ofB(4, 5);
    await ofC(2, 3);
    await reader.read();
    expect(reader.heard.slice(4)).to.deep.equal(['c 2']);
    away.clear();
    await reader.read();
    expect(reader.heard.slice(5)).to.deep.equal(['b 2', 'b 3', 'b 4']);
    await ofB(5, 6);
    await reader.read();
    expect(reader.heard.slice(8)).to.deep.equal(['b 5']);
  });

  it('goes on within an entry, and behind each event alone', async () => {
    const [ofC, ofB] = [await sendFrom('c', PEOPLE), await sendFrom('b', PEOPLE)];
    const reader = startReading(['message.sent'], 300);
    await ofB(0, 700);
    await ofC(0, 10);
    await reader.readPage();
    expect(reader.heard).to.have.length(300);
    away.add('b');
    await reader.read();
    away.clear();
    await reader.read();
    expect(reader.heard.filter((each) => each.startsWith('b'))).to.deep.equal(PEOPLE.map((_, i) => `b ${i}`));
    expect(reader.heard).to.have.length(710);
  });

  it('is told that something is gone when what was passed is, and hears nothing twice', async () => {
    const [ofC, ofB] = [await sendFrom('c', PEOPLE), await sendFrom('b', PEOPLE)];
    const reader = startReading(['messages.updated'], 1_000);
    await ofC(0, 1);
    await reader.read();
    away.add('b');
    for (let i = 0; i < 3; i++) await ofB(i, i + 1);
    for (let i = 1; i < 4; i++) await ofC(i, i + 1);
    await reader.read();
    away.clear();
    for (let i = 0; i < 2; i++) expect(await boundLog(space.store, 'main', 0)).to.equal(true);
    await reader.read();
    const [gone] = reader.heard.slice(4);
    expect(gone).to.equal('gone');
    expect(new Set(reader.heard)).to.have.length(reader.heard.length);
  });

  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    it(`hears all, once and in the order of each device, however they come and go (${seed})`, async () => {
      const dice = new Random(seed);
      const pick = <T>(from: readonly T[]): T => dice.pick(from);
      const records = await Promise.all(DEVICES.map((device) => sendFrom(device, PEOPLE)));
      const done = DEVICES.map(() => 0);
      const reader = startReading(pick([['messages.updated'], ['message.sent']]), pick([3, 50, 1_000]));
      for (let moves = 0; moves < 60; moves++) {
        const device = Math.floor(dice.next() * DEVICES.length);
        const name = DEVICES[device]!;
        const count = pick([1, 2, 11]);
        const changes = dice.next() < 0.5;
        if (changes) {
          await records[device]!(done[device]!, done[device]! + count);
          done[device]! += count;
        } else if (dice.next() < 0.5) {
          if (!away.delete(name)) away.add(name);
        }
        if (dice.next() < 0.7) await reader.readPage();
      }
      away.clear();
      await reader.read();
      for (const [device, name] of DEVICES.entries()) {
        const heard = reader.heard.filter((each) => each.startsWith(name));
        expect(heard).to.deep.equal(Array.from({ length: done[device]! }, (_, i) => `${name} ${i}`));
      }
      await reader.read();
      expect(reader.heard).to.have.length(done.reduce((sum, each) => sum + each, 0));
    });
  }

  it('has a cursor that says it, and no other', () => {
    const held = [
      { entry: '5-1', offset: 3, shards: toShardSet([0, 63]) },
      { entry: '7-0', offset: 0, shards: toShardSet([5]) },
    ];
    const cursor = sayReaderCursor({ entry: '9-0', offset: 0, held });
    expect(cursor).to.equal('9-0~5-1.3:8000000000000001~7-0:0000000000000020');
    expect(parseReaderCursor(cursor)).to.deep.equal({ entry: '9-0', offset: 0, held });
    for (const wrong of [
      '9-0~',
      '9-0~5-1',
      '9-0~5-1:',
      '9-0~5-1:0000000000000000',
      '9-0~5-1:000000000000002',
      '9-0~5-1:000000000000002G',
      '9-0~x:0000000000000020',
      '9-0~5-1:0000000000000020:1',
      '9-0~5-1:0000000000000020~6-1:0000000000000030',
      '~5-1:0000000000000020',
    ])
      expect(parseReaderCursor(wrong), wrong).to.equal(undefined);
  });

  it('names sets of shards', () => {
    const [some, others] = [toShardSet([0, 3, 17, 63]), toShardSet([3, 4])];
    expect(shardsIn(some)).to.deep.equal([0, 3, 17, 63]);
    expect(shardsIn(allShardsIn([{ shards: some }, { shards: others }]))).to.deep.equal([0, 3, 4, 17, 63]);
    expect(shardsIn(withoutShards(some, others))).to.deep.equal([0, 17, 63]);
    expect([shardsIn(NO_SHARDS), toShardSet([])]).to.deep.equal([[], NO_SHARDS]);
    const all = Array.from({ length: SHARDS }, (_, shard) => shard);
    expect(all.filter((shard) => hasShard(some, shard))).to.deep.equal([0, 3, 17, 63]);
  });
});
