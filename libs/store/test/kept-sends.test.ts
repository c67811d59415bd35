import { randomBytes } from 'node:crypto';
import { parseMessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { ensureDevice } from '@gateway/store/devices/devices';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend, SendsFullError } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, claimRecipient, recordResults } from '@gateway/store/sends/change-send';
import { readContent, readSend } from '@gateway/store/sends/read-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expireSends } from '@gateway/testkit/sends/expire-sends';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const HOUR_MS = 3_600_000;
const KILOBYTE = 1024;
const QUOTA_BYTES = 1024 * KILOBYTE;

describe('what the sends of one token take', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: HOUR_MS }))!;
  });
  afterEach(() => space.close());

  const TEXT = randomBytes(75 * KILOBYTE).toString('base64');
  type Options = {
    owner?: string;
    text?: string;
    kind?: 'text' | 'otp';
    priority?: 'otp';
    nowMs?: number;
    count?: number;
    freeMessages?: number;
  };
  async function accept({
    owner = 't',
    text = TEXT,
    kind = 'text',
    nowMs = Date.now(),
    count = 1,
    ...rest
  }: Options = {}) {
    const { messageId } = await acceptSend(space.store, address, {
      ...{
        kind,
        content: { kind: 'text', text },
        parts: 1,
        recipients: Array.from({ length: count }, (_, i) => String(4_915_112_345_670 + i)),
      },
      ...{ owner, requestId: 'r', nowMs, expiresAtMs: nowMs + HOUR_MS, quotaBytes: QUOTA_BYTES, ...rest },
    });
    return messageId;
  }
  const tagOf = (messageId: string) => parseMessageId(messageId)!.tag;
  const record = (messageId: string, event: 'acked' | 'failed' | 'returned') =>
    recordResults(space.store, ownership, {
      ...{ tag: tagOf(messageId), nowMs: Date.now() },
      events: [{ recipient: 0, part: 0, event, errorCode: 400 }],
    });
  async function sent(options?: Parameters<typeof accept>[0]) {
    const messageId = await accept(options);
    await record(messageId, 'acked');
    return messageId;
  }
  const claim = (messageId: string) =>
    claimRecipient(space.store, ownership, { tag: tagOf(messageId), recipient: 0, part: 0, nowMs: Date.now() });
  const hasContent = async (messageId: string) =>
    (await readContent(space.store, address, tagOf(messageId))) !== undefined;
  const isKept = async (messageId: string) => (await readSend(space.store, address, messageId)) !== undefined;
  async function bytesOfSends(): Promise<number> {
    const { redis } = space.store;
    const keys = await redis.keys(`${deviceKeys(space.store.space, address).base}:[sc]:*`);
    const sizes = await Promise.all(keys.map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
    return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
  }
  const book = (owner = 't') => {
    const { keptSends } = deviceKeys(space.store.space, address);
    return { bytes: `${keptSends}:bytes:${owner}`, ended: `${keptSends}:ended:${owner}` };
  };
  const bookedBytes = async (owner?: string) => Number(await space.store.redis.get(book(owner).bytes));

  it('is no content any more once no phone can have it, and still says what became of it', async () => {
    const [cancelled, failed, expired] = [await accept(), await accept(), await accept()];
    await cancelSend(space.store, address, cancelled);
    await claim(failed);
    await record(failed, 'failed');
    await space.store.redis.zrem(deviceKeys(space.store.space, address).openSends, cancelled, failed);
    await expireSends(space.store, ownership, Date.now() + 2 * HOUR_MS);
    for (const messageId of [cancelled, failed, expired]) {
      expect((await readSend(space.store, address, messageId))?.state).to.equal('closed');
      expect(await hasContent(messageId)).to.equal(false);
    }
    expect(await bytesOfSends()).to.be.below(30 * KILOBYTE);
    expect(await bookedBytes()).to.be.below(30 * KILOBYTE);
  });

  it('is content for as long as a phone may ask for it again', async () => {
    const [acked, doubtful] = [await sent(), await accept()];
    // Its process died before the ack.
    await claim(doubtful);
    await expireSends(space.store, ownership, Date.now() + 2 * HOUR_MS);
    expect((await readSend(space.store, address, doubtful))?.counts).to.include({ expired: 1 });
    expect([await hasContent(acked), await hasContent(doubtful)]).to.deep.equal([true, true]);
  });

  it('has a bound: the oldest that have ended are forgotten, and never those of another token', async () => {
    const theirs = await sent({ owner: 'other' });
    const ours: string[] = [];
    for (let i = 0; i < 30; i++) ours.push(await sent());
    expect(await bytesOfSends()).to.be.below(1.3 * QUOTA_BYTES);
    expect(await bookedBytes()).to.be.below(1.2 * QUOTA_BYTES);
    const kept = await Promise.all(ours.map(isKept));
    expect(kept.lastIndexOf(false), 'the oldest first').to.equal(kept.indexOf(true) - 1);
    expect(kept.filter(Boolean)).to.have.length.within(7, 10);
    expect(await isKept(theirs)).to.equal(true);
  });

  it('is bounded for what waits, too: a list is refused, an OTP and another token are not', async () => {
    const waiting: string[] = [];
    const refused = async () => {
      for (;;) waiting.push(await accept());
    };
    expect(await refused().catch((thrown: unknown) => thrown)).to.be.instanceOf(SendsFullError);
    expect(waiting).to.have.length.within(8, 12);
    expect(await Promise.all(waiting.map(isKept))).not.to.include(false);
    await accept({ kind: 'otp', text: 'hello' });
    const urgent = await accept({ priority: 'otp', text: 'hello' });
    expect(await readSend(space.store, address, urgent)).to.include({ kind: 'text', priority: 'otp' });
    await accept({ owner: 'other' });
    await cancelSend(space.store, address, waiting[0]!);
    await cancelSend(space.store, address, waiting[1]!);
    await accept();
  });

  it('is bounded for messages that wait, which end with them: a quarter of the room for a token, half for the lists of a device', async () => {
    const room = (freeMessages: number, owner: string, count: number, rest: Options = {}) =>
      accept({ owner, text: 'hello', count, freeMessages, ...rest }).catch((thrown: unknown) => {
        expect(thrown).to.be.instanceOf(SendsFullError);
        return undefined;
      });
    expect(await room(100, 'a', 26)).to.equal(undefined);
    const first = (await room(100, 'a', 20))!;
    expect(await room(80, 'a', 6)).to.equal(undefined);
    expect(await room(80, 'a', 6, { priority: 'otp' })).not.to.equal(undefined);
    expect(await room(74, 'b', 18), 'of another token').not.to.equal(undefined);
    expect(await room(56, 'c', 14), 'more than half for the device').to.equal(undefined);
    expect(await room(56, 'c', 10), 'a small one').not.to.equal(undefined);
    const waiting = () => space.store.redis.get(`${deviceKeys(space.store.space, address).keptSends}:waiting:a`);
    expect(await waiting()).to.equal('26');
    await record(first, 'acked');
    expect(await waiting()).to.equal('25');
    await cancelSend(space.store, address, first);
    expect(await waiting()).to.equal('6');
    expect(await room(66, 'a', 10)).not.to.equal(undefined);
  });

  it('is bounded for sends that come together, which make room of the same ended one', async () => {
    const first = await sent();
    const together = await Promise.allSettled(Array.from({ length: 30 }, () => accept()));
    expect(together.filter(({ status }) => status === 'fulfilled')).to.have.length.within(8, 12);
    expect(await bookedBytes()).to.be.below(1.3 * QUOTA_BYTES);
    expect(await isKept(first)).to.equal(false);
  });

  it('does not count the content of a one-time password that has gone out, which is erased in minutes', async () => {
    await sent({ kind: 'otp' });
    expect(await bookedBytes()).to.be.below(KILOBYTE);
  });

  it('counts no more what was forgotten, and what has died by itself', async () => {
    const { redis } = space.store;
    const first = await sent({ text: 'x' });
    await redis.del(...Object.values(sendKeys(space.store.space, address, tagOf(first))));
    const nowMs = Date.now() + (LIMITS.sendRetentionSeconds + 1) * 1000;
    const later = await sent({ text: 'x', nowMs });
    const entries = await redis.zrange(book().ended, '0', '-1');
    expect(entries.map((entry) => entry.split(' ')[0])).to.deep.equal([later]);
    expect(`${later} ${await bookedBytes()}`).to.equal(entries[0]);
    expect(await bookedBytes()).to.be.within((await bytesOfSends()) + 100, (await bytesOfSends()) + 500);
    for (const name of Object.values(book())) expect(await redis.pttl(name)).to.be.above(8 * 24 * HOUR_MS);
  });

  it('is counted until the last of it is gone: what comes later puts the end of the counts off', async () => {
    const { redis } = space.store;
    await sent({ text: 'x' });
    for (const name of Object.values(book())) await redis.pexpire(name, 8 * 24 * HOUR_MS);
    await sent({ text: 'x' });
    for (const name of Object.values(book())) expect(await redis.pttl(name), name).to.be.above(9 * 24 * HOUR_MS);
  });
});
