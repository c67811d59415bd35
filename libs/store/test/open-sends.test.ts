import type { Priority } from '@gateway/contracts/jobs';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend } from '@gateway/store/sends/change-send';
import { findClosed, listOpenSends, type OpenPlace, pageOpenSends } from '@gateway/store/sends/open-sends';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };

describe('the open sends of a device', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
  });
  afterEach(() => space.close());

  async function accept(kind: 'text' | 'otp' = 'text'): Promise<string> {
    const nowMs = Date.now();
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['4915112345670'] },
      // The order is that of acceptance, and not that of the ends.
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 + Math.round(Math.random() * 60_000) },
    });
    return messageId;
  }
  const page = (after?: OpenPlace, priority: Priority = 'bulk') =>
    pageOpenSends(space.store, address, { priority, after, limit: 3 });

  it('are read in pages, in the order in which they were accepted, one-time passwords apart', async () => {
    const lists = [];
    for (let i = 0; i < 4; i++) lists.push(await accept());
    const code = await accept('otp');
    lists.push(await accept());
    expect(await listOpenSends(space.store, address)).to.deep.equal([code, ...lists]);
    expect(await page(undefined, 'otp')).to.deep.equal({ messageIds: [code], next: undefined });
    const first = await page();
    expect(first.messageIds).to.deep.equal(lists.slice(0, 3));
    await cancelSend(space.store, address, lists[2]!);
    const late = await accept();
    expect(await page(first.next), 'the last of a page ends, and one comes').to.deep.include({
      messageIds: [lists[3], lists[4], late],
    });
    expect(await page((await page(first.next)).next)).to.deep.equal({ messageIds: [], next: undefined });
  });

  it('are told from those that have ended', async () => {
    const [open, over] = [await accept(), await accept()];
    await cancelSend(space.store, address, over);
    expect(await findClosed(space.store, address, [open, over])).to.deep.equal([over]);
    expect(await findClosed(space.store, address, [])).to.deep.equal([]);
  });
});
