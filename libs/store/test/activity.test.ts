import { parseMessageId } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { cancelLink, recordObserved, requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { readHistory } from '@gateway/store/devices/read-history';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, claimRecipient, recordResults } from '@gateway/store/sends/change-send';
import { type Activity, type FinishedHours, readActivity } from '@gateway/store/sends/listing/read-activity';
import { expireSends } from '@gateway/testkit/sends/expire-sends';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

const MINUTE_MS = 60_000;
/** The last minute of an hour. */
const NOW_MS = Math.floor(Date.now() / 3_600_000) * 3_600_000 - MINUTE_MS;
const NOTHING = { queued: 0, sent: 0, delivered: 0, read: 0, failed: 0, expired: 0, cancelled: 0, ackMs: 0 };

describe('what happened', () => {
  const { address, space, ownership } = useOwnedDevice();

  const accept = (recipients: string[], at = address) =>
    acceptSend(space.store, at, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients, owner: 't', requestId: 'r' },
      ...{ nowMs: NOW_MS, expiresAtMs: NOW_MS + 10 * MINUTE_MS },
    });
  const activity = (fromMs: number, minutes: number) =>
    readActivity(space.store, 'main', { fromMs, toMs: fromMs + minutes * MINUTE_MS });

  it('counts what became of recipients in the minute in which it did, over hours and devices', async () => {
    const { messageId } = await accept(['4915112345670', '4915112345671', '4915112345672', '4915112345673']);
    const others = [
      { workspace: 'main', device: 'phone-2' },
      { workspace: 'other', device: address.device },
    ];
    for (const other of others) {
      await ensureDevice(space.store, other);
      await accept(['4915112345670'], other);
    }
    const { tag } = parseMessageId(messageId)!;
    for (const recipient of [0, 1, 2]) {
      await claimRecipient(space.store, ownership, { tag, recipient, part: 0, nowMs: NOW_MS });
    }
    const news = (nowMs: number, ...events: Parameters<typeof recordResults>[2]['events'][number][]) =>
      recordResults(space.store, ownership, { tag, nowMs, events });
    const acked = [0, 1].map((recipient) => ({ recipient, part: 0, event: 'acked' as const }));
    await news(NOW_MS + 700, ...acked);
    // A repeat counts for nothing.
    await news(NOW_MS + 800, ...acked);
    await news(
      NOW_MS + 2 * MINUTE_MS,
      { recipient: 0, part: 0, event: 'read' },
      {
        ...{ recipient: 2, part: 0, event: 'failed', errorCode: 463 },
      },
    );
    await cancelSend(space.store, address, messageId, { nowMs: NOW_MS + 2 * MINUTE_MS });
    const { minutes, failures } = await activity(NOW_MS - MINUTE_MS, 4);
    expect(minutes).to.deep.equal([
      { ...NOTHING, atMs: NOW_MS - MINUTE_MS },
      { ...NOTHING, queued: 5, sent: 2, ackMs: 1_400, atMs: NOW_MS },
      { ...NOTHING, atMs: NOW_MS + MINUTE_MS },
      { ...NOTHING, delivered: 1, read: 1, failed: 1, cancelled: 1, atMs: NOW_MS + 2 * MINUTE_MS },
    ]);
    expect(failures).to.deep.equal({ network_463: 1 });
  });

  it('counts one whose receipt comes before the ack as sent, too, and the time until then', async () => {
    const { messageId } = await accept(['4915112345670', '4915112345671']);
    const { tag } = parseMessageId(messageId)!;
    for (const recipient of [0, 1]) {
      await claimRecipient(space.store, ownership, { tag, recipient, part: 0, nowMs: NOW_MS });
    }
    const events = [0, 1].map((recipient) => ({
      ...{ recipient, part: 0 },
      event: recipient === 0 ? ('delivered' as const) : ('read' as const),
    }));
    await recordResults(space.store, ownership, { tag, nowMs: NOW_MS + 300, events });
    await recordResults(space.store, ownership, {
      ...{ tag, nowMs: NOW_MS + 900 },
      events: [{ recipient: 0, part: 0, event: 'acked' }],
    });
    const { minutes } = await activity(NOW_MS, 1);
    expect(minutes).to.deep.equal([
      { ...NOTHING, queued: 2, sent: 2, delivered: 2, read: 1, ackMs: 600, atMs: NOW_MS },
    ]);
  });

  it('is read once of an hour that is over, and again of one that may still be counted in', async () => {
    await accept(['4915112345670']);
    const finished: FinishedHours = new Map();
    const read = (toMs: number) => readActivity(space.store, 'main', { fromMs: NOW_MS, toMs }, finished);
    const sum = ({ minutes }: Activity) => minutes.reduce((total, { queued }) => total + queued, 0);
    expect(sum(await read(NOW_MS + 3 * MINUTE_MS))).to.equal(1);
    await accept(['4915112345671']);
    expect(sum(await read(NOW_MS + 10 * MINUTE_MS)), 'a process whose clock is slow').to.equal(2);
    const { commands } = space.clients;
    await commands.unlink(...(await commands.keys(`${space.prefix}*activity*`)));
    expect(sum(await read(NOW_MS + 10 * MINUTE_MS))).to.equal(2);
  });

  it('counts what expires, and forgets all after a week', async () => {
    await accept(['4915112345670', '4915112345671']);
    await expireSends(space.store, ownership, NOW_MS + 11 * MINUTE_MS);
    const [minute] = (await activity(NOW_MS + 11 * MINUTE_MS, 1)).minutes;
    expect(minute).to.include({ expired: 2, queued: 0 });
    const key = shardKeys(space.store.space, shardOf(address)).activity('main');
    const ttl = await space.clients.commands.pttl(`${key}:${Math.floor(NOW_MS / 3_600_000)}`);
    expect(ttl).to.be.within(7 * 24 * 3_600_000, 7.1 * 24 * 3_600_000);
  });

  it('remembers changes of a device, and a new code is none', async () => {
    const observe = (observed: Parameters<typeof recordObserved>[2]['observed']) =>
      recordObserved(space.store, ownership, { actedOn: undefined, observed });
    expect(await readHistory(space.store, address)).to.deep.equal([]);
    await observe({ status: 'connecting', code: 'one' });
    await observe({ status: 'connecting', code: 'two' });
    await observe({ status: 'connected', phone: '4915112345670' });
    await observe({ status: 'connecting', reason: 'network' });
    await requestLink(space.store, address, { attemptId: 'att', method: 'qrCode', forceNew: false });
    await cancelLink(space.store, address, { attemptId: 'att', reason: 'link_timeout' });
    await cancelLink(space.store, address, { attemptId: 'att', reason: 'link_timeout' });
    const history = await readHistory(space.store, address);
    expect(history.map(({ status, reason }) => [status, reason])).to.deep.equal([
      ['disconnected', 'link_timeout'],
      ['connecting', 'network'],
      ['connected', undefined],
      ['connecting', undefined],
    ]);
    for (const { atMs } of history) expect(atMs).to.be.closeTo(Date.now(), 5_000);
  });

  it('remembers five hundred changes of a device', async () => {
    for (let i = 0; i < 700; i++) {
      const reason = i % 2 === 0 ? 'network' : 'replaced';
      await recordObserved(space.store, ownership, { actedOn: undefined, observed: { status: 'connecting', reason } });
    }
    expect(await readHistory(space.store, address)).to.have.lengthOf(500);
    const [key] = await space.clients.commands.keys(`${space.prefix}:*:history`);
    expect(await space.clients.commands.xlen(key!)).to.be.at.most(600);
  });
});
