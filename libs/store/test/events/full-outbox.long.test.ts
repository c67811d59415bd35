import { LOG_START, type LogPlace } from '@gateway/contracts/events/cursor';
import { OUTBOX_ENTRIES } from '@gateway/contracts/events/entry';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { openEvents } from '@gateway/store/events/open-events';
import { type LoggedEntry, readLog } from '@gateway/store/events/read-log';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { GapCount } from '@gateway/store/events/tell-missing';
import { expect } from 'chai';
import { ADDRESS, useFullRedis } from '../support/full-redis.js';

const COPY = `#!lua flags=allow-oom
local value = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1][2][2]
for _ = redis.call('XLEN', KEYS[1]) + 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', 'e', value) end`;

describe('an outbox that has as much as it may, on a full Redis', () => {
  const full = useFullRedis();
  const outbox = { workspace: 'main', shard: shardOf(ADDRESS) };
  const key = () => shardKeys(full.store.space, outbox.shard).outbox('main');

  /** Each entry that is not one of the many alike. */
  async function readNews(
    tag: string,
    after: LogPlace,
  ): Promise<{ alike: number; news: LoggedEntry[]; end: LogPlace }> {
    let [end, alike] = [after, 0];
    const news: LoggedEntry[] = [];
    for (;;) {
      const found = await readLog(full.store, 'main', end, { limit: 5_000 });
      if ('oldest' in found) throw new Error('gone');
      for (const entry of found.entries) {
        if (entry.tag === tag) alike++;
        else news.push(entry);
      }
      if (found.entries.length === 0) return { alike, news, end };
      end = { entry: found.entries.at(-1)!.id, offset: 0 };
    }
  }

  it('lets sends go on, invents nothing, and is a gap of as many changes as it had no room for', async () => {
    const { store, redis } = full;
    await openEvents(store, 'main');
    const [first, second] = [await full.accept(), await full.accept()];
    await full.settle(first.tag, 'acked', [0]);
    await redis.space.store.redis.eval(COPY, 1, key(), OUTBOX_ENTRIES);
    await full.fill();
    for (const recipients of [[0, 1], [2]]) await full.settle(second.tag, 'acked', recipients);
    expect(await full.stateOf(second.messageId)).to.equal('closed');
    expect(await store.redis.xlen(key())).to.equal(OUTBOX_ENTRIES);
    let gaps = 0;
    expect(await relayOutbox(store, outbox, { gaps: new GapCount(() => gaps++) })).to.equal(OUTBOX_ENTRIES + 1);
    const { alike, news, end } = await readNews(first.tag, LOG_START);
    expect(alike).to.equal(OUTBOX_ENTRIES);
    // Of three recipients, and that the send is finished.
    expect(news.map(({ parts }) => parts)).to.deep.equal([[{ kind: 'gap', missing: 4 }]]);
    expect([gaps, await store.redis.xlen(key())]).to.deep.equal([1, 0]);
    await full.settle(second.tag, 'read', [2]);
    expect(await relayOutbox(store, outbox, { gaps: new GapCount(() => gaps++) })).to.equal(1);
    const { news: later } = await readNews(first.tag, end);
    expect(later.map(({ tag, parts }) => [tag, parts])).to.deep.equal([
      [second.tag, [{ kind: 'changes', changes: [{ index: 2, status: 'read', errorCode: 0 }] }]],
    ]);
    expect(gaps).to.equal(1);
  });
});
