import { setImmediate } from 'node:timers/promises';
import { LOG_START } from '@gateway/contracts/events/cursor';
import { parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import type { Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { openEvents } from '@gateway/store/events/open-events';
import { readLog } from '@gateway/store/events/read-log';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { GapCount } from '@gateway/store/events/tell-missing';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { expect } from 'chai';
import { useOwnedDevice } from '../support/use-owned-device.js';

const PEOPLE = Array.from({ length: 40 }, (_, i) => `4915112345${String(600 + i)}`);

describe('events on their way from an outbox', () => {
  const { address, space, ownership } = useOwnedDevice();
  const outbox = { workspace: address.workspace, shard: shardOf(address) };
  const redis = () => space.store.redis;
  const outboxKey = () => shardKeys(space.store.space, outbox.shard).outbox(outbox.workspace);
  beforeEach(async () => {
    await ensureDevice(space.store, address);
    await openEvents(space.store, 'main');
  });

  async function accept(): Promise<SendTag> {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: PEOPLE, owner: 't' },
      ...{ requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    return parseMessageId(messageId)!.tag;
  }
  type News = Parameters<typeof recordResults>[2]['events'];
  const record = (tag: SendTag, events: News) =>
    recordResults(space.store, ownership, { tag, nowMs: Date.now(), events });
  /** Of each append. @param sendsAgain as a client does that is connected again. */
  const losesReply = (sendsAgain: boolean): Store => ({
    ...space.store,
    run: async (name, ...rest) => {
      const reply = await space.store.run(name, ...rest);
      if (name !== 'append-events') return reply;
      if (!sendsAgain) throw new Error('its reply was lost');
      return space.store.run(name, ...rest);
    },
  });
  /** The recipients of the changes in the log. */
  async function told(): Promise<number[]> {
    const found = await readLog(space.store, 'main', LOG_START, { limit: 100 });
    if ('oldest' in found) throw new Error('gone');
    const parts = found.entries.flatMap((entry) => entry.parts);
    return parts.flatMap((part) => (part.kind === 'changes' ? part.changes.map(({ index }) => index) : []));
  }

  it('come into the log also when they happen while replicas confirm what it got', async () => {
    const tag = await accept();
    const happen = (recipient: number) => record(tag, [{ recipient, part: 0, event: 'acked' }]);
    const { eventLog } = workspaceKeys(space.store.space, 'main');
    for (const isThereAlready of [false, true]) {
      const [first, second] = isThereAlready ? [2, 3] : [0, 1];
      await happen(first);
      const dies = async (key: string) => {
        if (key === eventLog) throw new Error('it died');
      };
      if (isThereAlready) await relayOutbox({ ...space.store, confirmWrites: dies }, outbox).catch(() => {});
      let news: Promise<unknown> | undefined;
      const confirmWrites = async (key: string) => {
        if (key !== eventLog) return;
        await setImmediate();
        news ??= happen(second);
        await news;
      };
      await relayOutbox({ ...space.store, confirmWrites }, outbox);
      expect([await redis().xlen(outboxKey()), await redis().xlen(eventLog)]).to.deep.equal([0, second + 1]);
    }
  });

  it('come into the log once replicas have them: what a failover takes back happens again, and would be told twice', async () => {
    const tag = await accept();
    await record(tag, [{ recipient: 0, part: 0, event: 'acked' }]);
    const { eventLog } = workspaceKeys(space.store.space, 'main');
    const before = await redis().dumpBuffer(outboxKey());
    await record(tag, [{ recipient: 1, part: 0, event: 'acked' }]);
    // The next master has the first alone.
    const confirmWrites = async (key: string) => {
      if (key !== outboxKey()) return;
      await redis().restore(outboxKey(), 0, before, 'REPLACE');
      throw new Error(`no replica has ${key}`);
    };
    const relayed = relayOutbox({ ...space.store, confirmWrites }, outbox);
    expect(await relayed.catch((error: Error) => error.message)).to.equal(`no replica has ${outboxKey()}`);
    expect(await redis().xlen(eventLog)).to.equal(0);
    await redis().xadd(outboxKey(), '*', 'e', 'the second, again');
    expect(await relayOutbox(space.store, outbox)).to.equal(2);
    expect(await redis().xlen(eventLog)).to.equal(2);
  });

  it('asks replicas for nothing where nothing is to be told', async () => {
    const confirmWrites = (key: string) => Promise.reject(new Error(`asked about ${key}`));
    expect(await relayOutbox({ ...space.store, confirmWrites }, outbox)).to.equal(0);
  });

  it('are told after Redis went back there, also those of a master whose clock is behind the mark, once each', async () => {
    const tag = await accept();
    const { eventLog, eventMarks } = workspaceKeys(space.store.space, 'main');
    const happen = async (recipient: number, atMs: number) => {
      await record(tag, [{ recipient, part: 0, event: 'acked' }]);
      const [[id, [, value]] = ['', ['', '']]] = await redis().xrevrangeBuffer(outboxKey(), '+', '-', 'COUNT', 1);
      await redis().xdel(outboxKey(), id.toString());
      entries.push([`${atMs}-0`, value as Buffer]);
    };
    const entries: [string, Buffer][] = [];
    for (const [recipient, atMs] of [1_000, 2_000, 3_000, 4_000].entries()) await happen(recipient, atMs);
    await redis().hset(eventMarks, `${outbox.shard}`, '2500-7');
    await redis().del(outboxKey());
    for (const [id, value] of entries) await redis().xadd(outboxKey(), id, 'e', value);
    await relayOutbox(space.store, outbox);
    expect(await told()).to.deep.equal([0, 1, 2, 3]);
    expect(await redis().xlen(outboxKey())).to.equal(0);
    expect(await relayOutbox(space.store, outbox)).to.equal(0);
    // One comes below the mark while the outbox is trimmed.
    await redis().del(outboxKey());
    const [first, , third] = entries;
    await redis().xadd(outboxKey(), '5000-0', 'e', third![1]);
    let isBack = false;
    const confirmWrites = async (key: string) => {
      if (isBack || key !== eventLog) return;
      isBack = true;
      await redis().del(outboxKey());
      await redis().xadd(outboxKey(), '4500-0', 'e', first![1]);
    };
    await relayOutbox({ ...space.store, confirmWrites }, outbox);
    await relayOutbox(space.store, outbox);
    expect((await told()).slice(4)).to.deep.equal([2, 0]);
  });

  it('are told after Redis went back behind what a process remembers of it, whether replicas confirmed it or not', async () => {
    const tag = await accept();
    const { eventLog, eventMarks } = workspaceKeys(space.store.space, 'main');
    const marks = new Map<string, string>();
    const happen = (recipient: number) => record(tag, [{ recipient, part: 0, event: 'acked' }]);
    const keys = [outboxKey(), eventLog, eventMarks];
    await happen(0);
    await relayOutbox(space.store, outbox, { marks });
    for (const recipient of [1, 2]) {
      await happen(recipient);
      const before = await Promise.all(keys.map((key) => redis().dumpBuffer(key)));
      const dies = async (key: string) => {
        if (key === eventLog) throw new Error('no replica has it');
      };
      const store = recipient === 1 ? space.store : { ...space.store, confirmWrites: dies };
      await relayOutbox(store, outbox, { marks }).catch(() => {});
      for (const [i, key] of keys.entries()) await redis().restore(key, 0, before[i]!, 'REPLACE');
      await relayOutbox(space.store, outbox, { marks });
      expect(await told()).to.deep.equal([0, 1, 2].slice(0, recipient + 1));
      expect(await redis().xlen(outboxKey())).to.equal(0);
    }
  });

  it('that are missing are told again after Redis went back behind that', async () => {
    const tag = await accept();
    const { eventLog, eventMarks } = workspaceKeys(space.store.space, 'main');
    const marks = new Map<string, string>();
    const keys = [outboxKey(), eventLog, eventMarks];
    await record(tag, [{ recipient: 0, part: 0, event: 'acked' }]);
    await redis().set(`${outboxKey()}:missing`, 7);
    const before = await Promise.all(keys.map((key) => redis().dumpBuffer(key)));
    expect(await relayOutbox(space.store, outbox, { marks })).to.equal(2);
    await redis().del(eventMarks);
    for (const [i, key] of keys.entries()) if (before[i]) await redis().restore(key, 0, before[i], 'REPLACE');
    expect(await relayOutbox(space.store, outbox, { marks }), 'the gap and the change').to.equal(2);
    expect(await relayOutbox(space.store, outbox, { marks })).to.equal(0);
  });

  it('that are missing are told also after Redis went back with their count, in the outbox alone', async () => {
    await accept();
    let counted = 0;
    const gaps = new GapCount(() => counted++);
    const missing = async (count: number | undefined) => {
      const key = `${outboxKey()}:missing`;
      await (count === undefined ? redis().del(key) : redis().set(key, count));
      return relayOutbox(space.store, outbox, { gaps });
    };
    expect([await missing(7), await missing(7)]).to.deep.equal([1, 0]);
    // It was lost, and counts from the beginning.
    expect([await missing(undefined), await missing(3), await missing(3)]).to.deep.equal([0, 1, 0]);
    expect([await missing(2), await missing(2), await missing(5)]).to.deep.equal([1, 0, 1]);
    expect(counted).to.equal(4);
    const found = await readLog(space.store, 'main', LOG_START, { limit: 100 });
    if ('oldest' in found) throw new Error('gone');
    const parts = [7, 3, null, 3].map((missing) => ({ kind: 'gap', missing }));
    expect(found.entries.flatMap((entry) => entry.parts)).to.deep.equal(parts);
  });

  it('are counted by the process that brings them into the log, also where it sends that again, as its reply was lost', async () => {
    const tag = await accept();
    for (const [recipient, store] of [space.store, losesReply(true)].entries()) {
      await record(tag, [{ recipient, part: 0, event: 'acked' }]);
      const counted = await Promise.all([relayOutbox(store, outbox), relayOutbox(space.store, outbox)]);
      expect(counted[0] + counted[1]).to.equal(1);
    }
    await record(tag, [{ recipient: 2, part: 0, event: 'acked' }]);
    let noted = 0;
    const onAppended = (entries: number) => {
      noted += entries;
    };
    expect(await relayOutbox(losesReply(true), outbox, { onAppended })).to.equal(1);
    expect(noted).to.equal(1);
    expect(await told()).to.deep.equal([0, 1, 2]);
  });

  it('of which there are too many are counted once, also where no answer comes, and whichever process tells them', async () => {
    let counted = 0;
    const gaps = new GapCount(() => counted++);
    for (const [i, store] of [space.store, losesReply(true), losesReply(false)].entries()) {
      await redis().set(`${outboxKey()}:missing`, i + 1);
      await relayOutbox(store, outbox, { gaps }).catch(() => {});
      await Promise.all(
        [gaps, gaps, new GapCount(() => counted++)].map((each) => relayOutbox(space.store, outbox, { gaps: each })),
      );
      expect(counted).to.equal(i + 1);
    }
    // Not told: it did not arrive, and another process told it.
    await redis().set(`${outboxKey()}:missing`, 4);
    const isAway = { ...space.store, run: () => Promise.reject(new Error('it is away')) };
    await relayOutbox(isAway, outbox, { gaps }).catch(() => {});
    await relayOutbox(space.store, outbox);
    await relayOutbox(space.store, outbox, { gaps });
    expect(counted).to.equal(3);
  });
});
