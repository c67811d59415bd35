import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { RECORD_VERSION } from '@gateway/contracts/sends/send-layout';
import { FencedError } from '@gateway/runtime/errors';
import { ResultWriter } from '@gateway/sender/scheduling/result-writer';
import { UnknownVersionError } from '@gateway/store/core/scripts/unknown-version-error';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { readSend, type SendRecord } from '@gateway/store/sends/read-send';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };

describe('ResultWriter', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  /** Names of the scripts that ran. */
  let steps: string[];
  let writer: ResultWriter;
  let openWriter: (options?: { gatherMs: number }) => ResultWriter;
  /** Kind, and ms since the ack. */
  let delivered: [kind: string, ms: number][];

  beforeEach(async () => {
    space = await openRedisSpace();
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    steps = [];
    delivered = [];
    const store: Store = {
      ...space.store,
      run: (name, keys, args) => {
        steps.push(name);
        return space.store.run(name, keys, args);
      },
    };
    openWriter = (options?: { gatherMs: number }) =>
      new ResultWriter({
        store,
        ownership,
        clock: { nowMs: Date.now, monotonicMs: () => performance.now() },
        metrics: { observeDelivery: (kind, ms) => void delivered.push([kind, ms]) },
        ...options,
      });
    writer = openWriter();
  });
  afterEach(() => space.close());

  async function send(recipients: number) {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, owner: 't', requestId: 'r' },
      recipients: Array.from({ length: recipients }, (_, i) => String(49_151_000_000 + i)),
      ...{ nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    return { messageId, tag: parseMessageId(messageId)!.tag };
  }
  const acked = (recipient: number) => ({ recipient, part: 0, event: 'acked' as const });

  it('writes what arrives together in one step, and tells each its own status', async () => {
    const { messageId, tag } = await send(100);
    const statuses = await Promise.all([
      ...Array.from({ length: 99 }, (_, i) => writer.write(tag, acked(i))),
      writer.write(tag, { recipient: 99, part: 0, event: 'failed', errorCode: 403 }),
    ]);
    expect(statuses).to.deep.equal([...Array(99).fill('sent'), 'failed']);
    expect(steps).to.deep.equal(['record-results']);
    expect((await readSend(space.store, address, messageId))!.counts).to.include({ sent: 99, failed: 1 });
  });

  it('keeps the order of the news of one recipient', async () => {
    const { tag } = await send(1);
    const news = (['acked', 'delivered', 'read'] as const).map((event) =>
      writer.write(tag, { recipient: 0, part: 0, event }),
    );
    expect(await Promise.all(news)).to.deep.equal(['sent', 'delivered', 'read']);
  });

  it('tells the time from an ack to its delivery once, also where the ack went to another owner', async () => {
    const { tag } = await send(2);
    const nowMs = Date.now();
    const atMs = nowMs - 5_000;
    await recordResults(space.store, ownership, { tag, nowMs: atMs, events: [acked(0)] });
    await writer.write(tag, { recipient: 0, part: 0, event: 'delivered' });
    await writer.write(tag, { recipient: 0, part: 0, event: 'read' });
    // Never acknowledged: there is no time from its ack.
    await writer.write(tag, { recipient: 1, part: 0, event: 'delivered' });
    expect(delivered.map(([kind]) => kind)).to.deep.equal(['text']);
    expect(delivered[0]![1]).to.be.within(5_000, 5_000 + Date.now() - nowMs + 1);
  });

  it('writes those of several sends in one step, and keeps the sends apart', async () => {
    const [one, other, third] = [await send(1), await send(2), await send(1)];
    const refused = { recipient: 0, part: 0, event: 'failed', errorCode: 403 } as const;
    const statuses = await Promise.all([
      writer.write(one.tag, acked(0)),
      writer.write(other.tag, acked(1)),
      writer.write('0000000000000', acked(0)),
      writer.write(third.tag, refused),
      writer.write(one.tag, { recipient: 0, part: 0, event: 'delivered' }),
      writer.write(other.tag, acked(7)),
    ]);
    expect(statuses).to.deep.equal(['sent', 'sent', undefined, 'failed', 'delivered', undefined]);
    expect(steps).to.deep.equal(['record-results']);
    const read = ({ messageId }: { messageId: string }) => readSend(space.store, address, messageId);
    const records = (await Promise.all([one, other, third].map(read))) as SendRecord[];
    expect(records.map(({ state }) => state)).to.deep.equal(['closed', 'open', 'closed']);
    const none = { queued: 0, sent: 0, delivered: 0, read: 0, failed: 0, expired: 0, cancelled: 0 };
    expect(records.map(({ counts }) => ({ ...none, ...counts }))).to.deep.equal([
      { ...none, delivered: 1 },
      { ...none, queued: 1, sent: 1 },
      { ...none, failed: 1 },
    ]);
    const { backlog } = deviceKeys(space.store.space, address);
    expect(await space.store.redis.get(backlog), 'messages that wait').to.equal('1');
  });

  it('writes the others when one send is of a version that only others know', async () => {
    const [foreign, own] = [await send(1), await send(1)];
    await rewriteHead(space.store, address, foreign.messageId, { version: RECORD_VERSION + 1 });
    const before = await space.store.redis.getBuffer(sendKeys(space.store.space, address, foreign.tag).record);
    const refusal = writer.write(foreign.tag, acked(0)).catch((error: unknown) => error);
    expect(await writer.write(own.tag, acked(0))).to.equal('sent');
    expect(await refusal).to.be.instanceOf(UnknownVersionError);
    const after = await space.store.redis.getBuffer(sendKeys(space.store.space, address, foreign.tag).record);
    expect(after!.equals(before!), 'left as it is').to.equal(true);
    expect(steps).to.deep.equal(['record-results']);
  });

  it('writes the others, and counts them, when one send is broken', async () => {
    const [broken, own, last] = [await send(1), await send(1), await send(1)];
    const { record } = sendKeys(space.store.space, address, broken.tag);
    // Its texts are gone, which its end asks for.
    await space.store.redis.set(record, (await space.store.redis.getBuffer(record))!.subarray(0, -20));
    const refusal = writer.write(broken.tag, acked(0)).catch((error: unknown) => error);
    expect(await Promise.all([writer.write(own.tag, acked(0)), writer.write(last.tag, acked(0))])).to.deep.equal([
      'sent',
      'sent',
    ]);
    expect(await refusal).to.be.instanceOf(Error);
    const { backlog } = deviceKeys(space.store.space, address);
    expect(await space.store.redis.get(backlog), 'messages that wait').to.equal('1');
  });

  it('writes at once what a person waits for, with what came before it', async () => {
    const gatherMs = 2_000;
    writer = openWriter({ gatherMs });
    const [list, code] = [await send(2), await send(1)];
    await writer.write(list.tag, acked(0));
    const startedMs = performance.now();
    const statuses = await Promise.all([
      writer.write(list.tag, acked(1)),
      writer.write(code.tag, acked(0), { isUrgent: true }),
    ]);
    expect(statuses).to.deep.equal(['sent', 'sent']);
    expect(performance.now() - startedMs).to.be.below(gatherMs);
    expect(steps).to.deep.equal(['record-results', 'record-results']);
  });

  it('reports that a result has no recipient', async () => {
    const { tag } = await send(1);
    expect(await writer.write(tag, acked(7)), 'no such recipient').to.equal(undefined);
    expect(await writer.write('0000000000000', acked(0)), 'no such send').to.equal(undefined);
  });

  it('rejects all waiting calls when the ownership is lost, and writes nothing', async () => {
    const { messageId, tag } = await send(2);
    await giveDeviceBack(space.store, ownership);
    const refused = await Promise.allSettled([writer.write(tag, acked(0)), writer.write(tag, acked(1))]);
    for (const outcome of refused) {
      expect(outcome.status === 'rejected' && outcome.reason).to.be.instanceOf(FencedError);
    }
    expect((await readSend(space.store, address, messageId))!.counts.queued).to.equal(2);
  });
});
