import { createHash, randomBytes } from 'node:crypto';
import type { MediaContent } from '@gateway/contracts/content/media-content';
import { parseMessageId } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { GatewayError, toError } from '@gateway/runtime/errors';
import { dropBlob, keepBlob, putBlob, readBlob, releaseBlobs } from '@gateway/store/blobs/blobs';
import { ensureDevice } from '@gateway/store/devices/devices';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, recordResults } from '@gateway/store/sends/change-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expireSends } from '@gateway/testkit/sends/expire-sends';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const HOUR_MS = 3_600_000;
const MEBIBYTE = 1024 * 1024;

describe('a blob', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
  });
  afterEach(() => space.close());

  const put = (bytes: Buffer, { quotaBytes = 100 * MEBIBYTE, nowMs = Date.now() } = {}) =>
    putBlob(space.store, 'main', { bytes, nowMs, quotaBytes });
  async function hashOf(bytes: Buffer, options = {}): Promise<string> {
    const stored = await put(bytes, options);
    if (stored.kind !== 'stored') throw new Error('full');
    return stored.hash;
  }
  const chunks = (hash: string) => space.clients.commands.keys(`${space.prefix}:*:blob:${hash}:*`);
  const ttlMs = (hash: string) =>
    space.clients.commands.pttl(workspaceKeys(space.store.space, 'main').blobChunk(hash, 0));

  it('comes back as it was, whatever its size', async () => {
    for (const size of [1, 512 * 1024, 512 * 1024 + 1, 3 * MEBIBYTE]) {
      const bytes = randomBytes(size);
      const hash = await hashOf(bytes);
      expect((await readBlob(space.store, 'main', { hash, sizeBytes: size }))?.equals(bytes)).to.equal(true);
    }
  });

  it('is stored once, also when several store it at the same time', async () => {
    const bytes = randomBytes(2 * MEBIBYTE);
    const [hash] = await Promise.all(Array.from({ length: 5 }, () => hashOf(bytes)));
    expect(await chunks(hash!)).to.have.length(4);
    expect((await readBlob(space.store, 'main', { hash: hash!, sizeBytes: bytes.length }))?.equals(bytes)).to.equal(
      true,
    );
  });

  it('does not lie open in Redis, and does not open when it was changed', async () => {
    const bytes = Buffer.from('a secret that is easy to find');
    const hash = await hashOf(bytes);
    const key = workspaceKeys(space.store.space, 'main').blobChunk(hash, 0);
    const sealed = await space.clients.commands.getBuffer(key);
    expect(sealed?.includes('secret')).to.equal(false);
    sealed![sealed!.length - 1]! ^= 1;
    await space.clients.commands.set(key, sealed!);
    const read = await readBlob(space.store, 'main', { hash, sizeBytes: bytes.length }).catch(() => 'refused');
    expect(read).to.equal('refused');
  });

  it('that no send was promised with is gone after ten minutes, and blocks the quota for no longer', async () => {
    const quotaBytes = MEBIBYTE;
    const nowMs = Date.now();
    const hash = await hashOf(randomBytes(MEBIBYTE), { quotaBytes });
    expect(await ttlMs(hash)).to.be.within(9 * 60_000, 10 * 60_000);
    const other = randomBytes(MEBIBYTE);
    expect((await put(other, { quotaBytes, nowMs: nowMs + 9 * 60_000 })).kind).to.equal('full');
    expect((await put(other, { quotaBytes, nowMs: nowMs + 11 * 60_000 })).kind).to.equal('stored');
  });

  it('is written again when a part of it is lost', async () => {
    const bytes = randomBytes(MEBIBYTE);
    const hash = await hashOf(bytes);
    await space.clients.commands.del(workspaceKeys(space.store.space, 'main').blobChunk(hash, 1));
    expect(await readBlob(space.store, 'main', { hash, sizeBytes: bytes.length })).to.equal(undefined);
    await hashOf(bytes);
    expect((await readBlob(space.store, 'main', { hash, sizeBytes: bytes.length }))?.equals(bytes)).to.equal(true);
  });

  it('is refused when the workspace has no room left, until others have died', async () => {
    const quotaBytes = 2 * MEBIBYTE;
    const nowMs = Date.now();
    const first = randomBytes(MEBIBYTE);
    await hashOf(first, { quotaBytes });
    expect(await put(randomBytes(MEBIBYTE + 1), { quotaBytes })).to.deep.equal({ kind: 'full' });
    expect((await put(first, { quotaBytes })).kind, 'what is there costs nothing').to.equal('stored');
    expect((await put(randomBytes(MEBIBYTE), { quotaBytes })).kind).to.equal('stored');
    const later = { quotaBytes, nowMs: nowMs + 2 * HOUR_MS };
    expect((await put(randomBytes(2 * MEBIBYTE), later)).kind).to.equal('stored');
  });

  describe('and the sends that need it', () => {
    const bytes = randomBytes(MEBIBYTE);
    let ownership: Ownership;
    beforeEach(async () => {
      ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: HOUR_MS }))!;
    });

    async function store(nowMs = Date.now()): Promise<MediaContent> {
      const stored = await put(bytes, { nowMs });
      if (stored.kind !== 'stored') throw new Error('full');
      const { hash: blob, holder: blobHolder } = stored;
      return { kind: 'media', type: 'document', mimeType: 'text/plain', sizeBytes: bytes.length, blob, blobHolder };
    }
    const keep = (content: MediaContent, hours = 1) =>
      keepBlob(space.store, 'main', { content, expiresAtMs: Date.now() + hours * HOUR_MS });
    async function accept({ to = address, expiresAtMs = Date.now() + HOUR_MS, reservedAtMs = Date.now() } = {}) {
      const content = await store(reservedAtMs);
      expect(await keepBlob(space.store, 'main', { content, expiresAtMs })).to.equal(true);
      const { messageId } = await acceptSend(space.store, to, {
        kind: 'media',
        content,
        parts: 1,
        recipients: ['4915112345670', '4915112345671'],
        owner: 't',
        requestId: 'r',
        nowMs: Date.now(),
        expiresAtMs,
      });
      return messageId;
    }
    const settle = (messageId: string, recipient: number) =>
      recordResults(space.store, ownership, {
        ...{ tag: parseMessageId(messageId)!.tag, nowMs: Date.now() },
        events: [{ recipient, part: 0, event: 'acked' }],
      });
    const left = async () => {
      await releaseBlobs(space.store, address);
      return (await space.clients.commands.keys(`${space.prefix}:{main}:blob*`)).length;
    };
    const ALL_OF_IT = ['blobs', 'blob-sizes', 'blob-bytes', 'blob-holders', 'chunk 0', 'chunk 1'].length;
    /** The count of bytes stays, and is 0. */
    const NOTHING = 1;

    it('lives as long as the last of them, and never shorter than it was to', async () => {
      const promise = async (hours: number) => expect(await keep(await store(), hours)).to.equal(true);
      const isKept = (key: string) => !key.includes('blob-reserved');
      const keys = async () => (await space.clients.commands.keys(`${space.prefix}:{main}:blob*:*`)).filter(isKept);
      const ttls = async () => Promise.all((await keys()).map((key) => space.clients.commands.pttl(key)));
      for (const [hours, atLeast] of [
        [2, 2],
        [1, 2],
        [5, 5],
      ] as const) {
        await promise(hours);
        for (const ttl of await ttls()) expect(ttl).to.be.within(atLeast * HOUR_MS, (atLeast + 1) * HOUR_MS);
      }
      const all = await keys();
      // Another holder that writes it again, as one does that cannot open it, leaves it its time.
      await space.clients.commands.del(all.find((key) => key.endsWith(':1'))!);
      await put(bytes);
      for (const ttl of await ttls()) expect(ttl).to.be.above(5 * HOUR_MS);
      expect(await keys()).to.have.length(all.length);
    });

    it('keeps the time of a piece that is written once more', async () => {
      expect(await keep(await store())).to.equal(true);
      const { blobHolders } = workspaceKeys(space.store.space, 'main');
      const holders = blobHolders(createHash('sha256').update(bytes).digest('hex'));
      const [chunk] = await space.clients.commands.keys(`${space.prefix}:{main}:blob:*:0`);
      // By a process that is killed right after it.
      await space.store.run('write-chunk', [chunk!, holders], ['sealed', Date.now() + 1_000]);
      expect(await space.clients.commands.pttl(chunk!)).to.be.above(HOUR_MS);
    });

    it('must be held by one that is accepted', async () => {
      const [refused] = [await store(), await store()];
      const { blobHolders } = workspaceKeys(space.store.space, 'main');
      await space.clients.commands.srem(blobHolders(refused.blob), refused.blobHolder);
      expect(await keep(refused)).to.equal(false);
    });

    it('must be there when one is accepted, all of it', async () => {
      const content = await store();
      const { blobChunk } = workspaceKeys(space.store.space, 'main');
      const hash = createHash('sha256').update(bytes).digest('hex');
      await space.clients.commands.del(blobChunk(hash, 1));
      expect(await keep(content)).to.equal(false);
    });

    it('goes when the last recipient of the last of them is settled', async () => {
      const [first, second] = [await accept(), await accept()];
      await settle(first, 0);
      await settle(second, 0);
      await settle(second, 1);
      expect(await left(), 'the first still needs it').to.equal(ALL_OF_IT);
      await settle(first, 1);
      expect(await left()).to.equal(NOTHING);
      expect(await space.clients.commands.get(workspaceKeys(space.store.space, 'main').blobBytes)).to.equal('0');
    });

    it('goes when they are cancelled, expire, or are refused', async () => {
      const cancelled = await accept();
      await accept({ expiresAtMs: Date.now() + 1 });
      const refused = await store();
      await keep(refused);
      await cancelSend(space.store, address, cancelled);
      await expireSends(space.store, ownership, Date.now() + 10);
      expect(await left(), 'one is not refused yet').to.equal(ALL_OF_IT);
      await dropBlob(space.store, 'main', refused);
      expect(await left()).to.equal(NOTHING);
    });

    it('stays until replicas know that the last of them has ended: a failover would open it again', async () => {
      const hash = createHash('sha256').update(bytes).digest('hex');
      await cancelSend(space.store, address, await accept());
      const unconfirmed = new GatewayError({ code: 'not_confirmed', message: 'no replica has it' });
      const alone = { ...space.store, confirmWrites: () => Promise.reject(unconfirmed) };
      expect(await releaseBlobs(alone, address).catch(toError)).to.equal(unconfirmed);
      expect(await readBlob(space.store, 'main', { hash, sizeBytes: bytes.length })).to.not.equal(undefined);
      expect(await left()).to.equal(NOTHING);
      expect(await releaseBlobs(alone, address).catch(toError), 'nothing has ended since').to.equal(undefined);
    });

    it('goes within ten minutes of the last of them where a process died that was about to promise another', async () => {
      const messageId = await accept();
      const died = await store();
      await cancelSend(space.store, address, messageId);
      expect(await left(), 'that process may be busy').to.equal(ALL_OF_IT + 1);
      expect(await ttlMs(died.blob)).to.be.within(9 * 60_000, 10 * 60_000);
      const quotaBytes = MEBIBYTE;
      const nowMs = Date.now();
      expect((await put(randomBytes(MEBIBYTE), { quotaBytes, nowMs: nowMs + 9 * 60_000 })).kind).to.equal('full');
      expect((await put(randomBytes(MEBIBYTE), { quotaBytes, nowMs: nowMs + 11 * 60_000 })).kind).to.equal('stored');
    });

    it('goes with the last of them where a process died ten minutes before that', async () => {
      const nowMs = Date.now();
      const messageId = await accept();
      await put(bytes, { nowMs: nowMs - 11 * 60_000 });
      await cancelSend(space.store, address, messageId);
      expect(await left()).to.equal(NOTHING);
    });

    it('goes with the last of them also where that was accepted after a process had died, and ended much later', async () => {
      const nowMs = Date.now();
      await put(bytes, { nowMs: nowMs - 10 * 60_000 + 1_500 });
      const messageId = await accept({ reservedAtMs: nowMs - 10 * 60_000 + 2_000 });
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await cancelSend(space.store, address, messageId);
      expect(await left()).to.equal(NOTHING);
    });

    it('that is let go of once more after its workspace was deleted leaves nothing in it', async () => {
      const content = await store();
      await dropBlob(space.store, 'main', content);
      const { blobBytes } = workspaceKeys(space.store.space, 'main');
      await space.clients.commands.del(blobBytes);
      await dropBlob(space.store, 'main', content);
      expect(await space.clients.commands.exists(blobBytes)).to.equal(0);
    });

    it('is one for all devices, and one for the quota', async () => {
      const other = { workspace: 'main', device: 'phone-2' };
      await ensureDevice(space.store, other);
      const [ours, theirs] = [await accept(), await accept({ to: other })];
      const quotaBytes = 2 * MEBIBYTE;
      expect((await put(randomBytes(MEBIBYTE + 1), { quotaBytes })).kind).to.equal('full');
      await cancelSend(space.store, address, ours);
      expect(await left()).to.equal(ALL_OF_IT);
      await cancelSend(space.store, other, theirs);
      await releaseBlobs(space.store, other);
      expect(await left()).to.equal(NOTHING);
      expect((await put(randomBytes(MEBIBYTE + 1), { quotaBytes })).kind).to.equal('stored');
    });
  });
});
