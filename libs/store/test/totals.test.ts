import type { SendKind } from '@gateway/contracts/content/message-content';
import { parseMessageId } from '@gateway/contracts/ids';
import type { RecipientStatus } from '@gateway/contracts/sends/statuses';
import { ensureDevice } from '@gateway/store/devices/devices';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, recordResults, recordResultsOfSends } from '@gateway/store/sends/change-send';
import { readTotals } from '@gateway/store/sends/read-totals';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const NONE = { queued: 0, sent: 0, delivered: 0, read: 0, failed: 0, expired: 0, cancelled: 0 };

describe('the totals of recipients', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
  });
  afterEach(() => space.close());

  async function accept(recipients: number, { kind = 'text' as SendKind, at = address } = {}) {
    const nowMs = Date.now();
    const { messageId } = await acceptSend(space.store, at, {
      ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, owner: 't', requestId: 'r' },
      recipients: Array.from({ length: recipients }, (_, i) => `49151123456${10 + i}`),
      ...{ nowMs, expiresAtMs: nowMs + 60_000 },
    });
    return messageId;
  }
  type News = Parameters<typeof recordResults>[2]['events'][number];
  const hear = (messageId: string, ...events: Omit<News, 'part'>[]) =>
    recordResults(space.store, ownership, {
      ...{ tag: parseMessageId(messageId)!.tag, nowMs: Date.now() },
      events: events.map((event) => ({ ...event, part: 0 })),
    });
  const totals = async () => (await readTotals(space.store)).kinds;
  const some = (counts: Partial<Record<RecipientStatus, number>>) => ({ ...NONE, ...counts });

  it('are those of all devices and workspaces, by kind', async () => {
    await accept(3);
    const at = { workspace: 'other', device: 'phone-2' };
    await ensureDevice(space.store, at);
    await accept(2, { at });
    await accept(1, { kind: 'otp' });
    const { text, otp, media } = await totals();
    expect([text.now, otp.now, media.now]).to.deep.equal([some({ queued: 5 }), some({ queued: 1 }), NONE]);
  });

  it('count each recipient once, at every status on the way, whatever comes late, twice, or in another order', async () => {
    const messageId = await accept(5);
    await hear(messageId, { recipient: 0, event: 'acked' }, { recipient: 0, event: 'acked' });
    await hear(messageId, { recipient: 1, event: 'read' }, { recipient: 1, event: 'delivered' });
    await hear(messageId, { recipient: 2, event: 'acked' });
    await hear(messageId, { recipient: 2, event: 'revoked', errorCode: 463 });
    await hear(messageId, { recipient: 4, event: 'acked' });
    await hear(messageId, { recipient: 4, event: 'read' });
    await cancelSend(space.store, address, messageId);
    const { text } = await totals();
    expect(text.now).to.deep.equal(some({ sent: 1, read: 2, failed: 1, cancelled: 1 }));
    expect(text.reached).to.deep.equal({ ...text.now, queued: 5, sent: 4, delivered: 2 });
    expect([...(await readTotals(space.store)).errors]).to.deep.equal([[463, 1]]);
  });

  it('are those of each kind, also when one step tells of sends of several', async () => {
    const code = await accept(1, { kind: 'otp' });
    const lists = [await accept(2), await accept(2)];
    const sends = [code, ...lists].map((messageId) => ({
      tag: parseMessageId(messageId)!.tag,
      events: [{ recipient: 0, part: 0, event: 'acked' as const }],
    }));
    await recordResultsOfSends(space.store, ownership, { nowMs: Date.now(), sends });
    const { text, otp } = await totals();
    expect([text.now, otp.now]).to.deep.equal([some({ queued: 2, sent: 2 }), some({ sent: 1 })]);
  });
});
