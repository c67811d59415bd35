import { randomBytes } from 'node:crypto';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { putBlob, readBlob } from '@gateway/store/blobs';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const HOUR_MS = 3_600_000;
const MEBIBYTE = 1024 * 1024;

describe('a blob', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  const put = (bytes: Buffer, { hours = 1, quotaBytes = 100 * MEBIBYTE, nowMs = Date.now() } = {}) =>
    putBlob(space.store, address, { bytes, nowMs, neededUntilMs: nowMs + hours * HOUR_MS, quotaBytes });
  async function hashOf(bytes: Buffer, options = {}): Promise<string> {
    const stored = await put(bytes, options);
    if (stored.kind !== 'stored') throw new Error('full');
    return stored.hash;
  }
  const chunks = (hash: string) => space.clients.commands.keys(`${space.prefix}:*:blob:${hash}:*`);
  const ttlMs = (hash: string) =>
    space.clients.commands.pttl(deviceKeys(space.store.space, address).blobChunk(hash, 0));

  it('comes back as it was, whatever its size', async () => {
    for (const size of [1, 512 * 1024, 512 * 1024 + 1, 3 * MEBIBYTE]) {
      const bytes = randomBytes(size);
      const hash = await hashOf(bytes);
      expect((await readBlob(space.store, address, { hash, sizeBytes: size }))?.equals(bytes)).to.equal(true);
    }
  });

  it('is stored once, also when several store it at the same time', async () => {
    const bytes = randomBytes(2 * MEBIBYTE);
    const [hash] = await Promise.all(Array.from({ length: 5 }, () => hashOf(bytes)));
    expect(await chunks(hash!)).to.have.length(4);
    expect((await readBlob(space.store, address, { hash: hash!, sizeBytes: bytes.length }))?.equals(bytes)).to.equal(
      true,
    );
  });

  it('does not lie open in Redis, and does not open when it was changed', async () => {
    const bytes = Buffer.from('a secret that is easy to find');
    const hash = await hashOf(bytes);
    const key = deviceKeys(space.store.space, address).blobChunk(hash, 0);
    const sealed = await space.clients.commands.getBuffer(key);
    expect(sealed?.includes('secret')).to.equal(false);
    sealed![sealed!.length - 1]! ^= 1;
    await space.clients.commands.set(key, sealed!);
    const read = await readBlob(space.store, address, { hash, sizeBytes: bytes.length }).catch(() => 'refused');
    expect(read).to.equal('refused');
  });

  it('lives as long as the last send that needs it, and never shorter than it was to', async () => {
    const bytes = randomBytes(10);
    const hash = await hashOf(bytes, { hours: 2 });
    await hashOf(bytes, { hours: 1 });
    expect(await ttlMs(hash)).to.be.above(2 * HOUR_MS);
    await hashOf(bytes, { hours: 5 });
    expect(await ttlMs(hash)).to.be.above(5 * HOUR_MS);
  });

  it('is written again when a part of it is lost', async () => {
    const bytes = randomBytes(MEBIBYTE);
    const hash = await hashOf(bytes);
    await space.clients.commands.del(deviceKeys(space.store.space, address).blobChunk(hash, 1));
    expect(await readBlob(space.store, address, { hash, sizeBytes: bytes.length })).to.equal(undefined);
    await hashOf(bytes);
    expect((await readBlob(space.store, address, { hash, sizeBytes: bytes.length }))?.equals(bytes)).to.equal(true);
  });

  it('is refused when the device has no room left, until others have died', async () => {
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
});
