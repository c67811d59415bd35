import { parseMessageId } from '@gateway/contracts/ids';
import { FencedError } from '@gateway/runtime/errors';
import { ResultWriter } from '@gateway/sender/scheduling/result-writer';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { readSend } from '@gateway/store/sends/read-send';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };

describe('ResultWriter', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  /** Names of the scripts that ran. */
  let steps: string[];
  let writer: ResultWriter;
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
    writer = new ResultWriter({
      store,
      ownership,
      clock: { nowMs: Date.now, monotonicMs: () => performance.now() },
      metrics: { observeDelivery: (kind, ms) => void delivered.push([kind, ms]) },
    });
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

  it('keeps the sends apart', async () => {
    const [one, other] = [await send(1), await send(1)];
    await Promise.all([writer.write(one.tag, acked(0)), writer.write(other.tag, acked(0))]);
    expect(steps).to.have.length(2);
    expect((await readSend(space.store, address, other.messageId))!.state).to.equal('closed');
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
