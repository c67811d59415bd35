import { randomBytes } from 'node:crypto';
import { parseMessageId } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { DEFAULT_WEBHOOK_SETTINGS } from '@gateway/contracts/webhooks/webhook';
import { keepUpload, putBlob, readBlob, readUpload } from '@gateway/store/blobs/blobs';
import { findSealed } from '@gateway/store/core/find-sealed';
import { countKeyUse, resealAll } from '@gateway/store/core/sealed-values';
import { createStore, type Store } from '@gateway/store/core/store';
import { MS_PER_DAY, RINGS } from '@gateway/store/core/vault';
import { readDeviceState, recordObserved } from '@gateway/store/devices/device-state';
import { ensureDevice, readIdKey } from '@gateway/store/devices/devices';
import { deviceKeyStore, retireKeys } from '@gateway/store/devices/keys/device-keys';
import { askOwner, takeQuestions } from '@gateway/store/devices/questions/owner-questions';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { readReceived, recordReceived } from '@gateway/store/inbound/received-messages';
import { acceptSendOnce } from '@gateway/store/sends/accepting/accept-send';
import { findRepeat } from '@gateway/store/sends/accepting/idempotency';
import { readContent } from '@gateway/store/sends/read-send';
import { readParkingKey } from '@gateway/store/webhooks/delivering/parked/parking-key';
import { listAttempts, recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook, readWebhook } from '@gateway/store/webhooks/webhooks';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'shop' };
const OLD = { id: 'old', key: Buffer.alloc(32, 1) };
const NEW = { id: 'new', key: Buffer.alloc(32, 2) };
const FILE = randomBytes(600_000);
const UPLOAD = { url: 'https://x/', directPath: '/x', atMs: 1 } as never;

describe('changing keys', () => {
  let space: RedisSpace;
  let old: Store;
  let both: Store;
  let last: Store;
  let ownership: Ownership;
  const nothing = { onProgress: () => {} };

  beforeEach(async () => {
    space = await openRedisSpace();
    const storeWith = (...keys: (typeof OLD)[]) =>
      createStore({
        redis: space.store.redis,
        space: space.store.space,
        keyRings: { credentials: keys, contents: keys },
      });
    [old, both, last] = [storeWith(OLD), storeWith(NEW, OLD), storeWith(NEW)];
    ownership = (await takeDevice(old, address, { owner: 'a', ttlMs: 60_000 }))!;
  });
  afterEach(() => space.close());

  /** One value of every purpose. */
  async function writeAll(store: Store) {
    const nowMs = Date.now();
    await ensureDevice(store, address);
    const keys = deviceKeyStore(store, ownership);
    await keys.commit({ creds: '{"gone":true}' });
    await retireKeys(store, ownership, { quarantine: true });
    await keys.commit({ creds: '{}', keys: [{ type: 'session', id: '44.0', value: Buffer.of(7) }] });
    const blob = (await putBlob(store, 'main', {
      ...{ bytes: FILE, nowMs, quotaBytes: 10_000_000 },
    })) as { hash: string };
    await keepUpload(store, address, { blob: blob.hash, type: 'image', upload: UPLOAD, untilMs: nowMs + 60_000 });
    await recordReceived(store, ownership, { message: { platformId: 'P', jid: '44@s', text: 'a word' }, nowMs });
    await askOwner(store, address, { id: 'q', question: { kind: 'session' } });
    const observed = { status: 'connecting', reason: 'linking', code: '2@code' } as const;
    await recordObserved(store, ownership, { actedOn: undefined, observed });
    const repeat = await findRepeat(store, { owner: 't', callersKey: 'k', address, isBound: true });
    if (repeat.kind !== 'free') throw new Error('a new key is free');
    const send = await acceptSendOnce(
      store,
      address,
      {
        ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['491511'] },
        reply: { kind: 'received', platformId: 'P', from: '44@s' },
        ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
      },
      { key: repeat.key, fingerprint: Buffer.alloc(32, 9), answer: {} },
    );
    const target = { url: 'https://example.com/', headers: {} };
    const settings = DEFAULT_WEBHOOK_SETTINGS;
    const webhook = await createWebhook(store, 'main', { settings, target, secrets: [{ secret: 'whsec_x' }] });
    if (webhook === 'full') throw new Error('full');
    const attempt = { webhookId: 'evt_1', atMs: nowMs, tookMs: 1, status: 200, error: null, answer: 'ok' };
    await recordAttempt(store, 'main', webhook.id, { attempt });
    await readParkingKey(store, 'main', webhook.id);
    return { hash: blob.hash, tag: parseMessageId(send!.messageId)!.tag, webhook: webhook.id };
  }

  async function readAll(
    store: Store,
    { hash, tag, webhook }: { hash: string; tag: string; webhook: string },
  ): Promise<void> {
    const { target, secrets } = (await readWebhook(store, 'main', webhook))!;
    expect([target.url, secrets[0]?.secret]).to.deep.equal(['https://example.com/', 'whsec_x']);
    expect((await listAttempts(store, 'main', webhook, 1))[0]).to.include({ answer: 'ok' });
    expect(await readParkingKey(store, 'main', webhook)).to.deep.equal(old.vault.subkey('parked'));
    const keys = deviceKeyStore(store, ownership);
    expect(await keys.readCreds()).to.equal('{}');
    expect((await keys.read('session', ['44.0'])).get('44.0')).to.deep.equal(Buffer.of(7));
    expect(await readIdKey(store, address)).to.have.length(16);
    expect(await readBlob(store, 'main', { hash, sizeBytes: FILE.length })).to.deep.equal(FILE);
    expect(await readUpload(store, address, { blob: hash, type: 'image' })).to.deep.equal(UPLOAD);
    expect((await readReceived(store, address, { receivedId: 'P', nowMs: Date.now() }))?.text).to.equal('a word');
    expect((await readDeviceState(store, address)).observed?.code).to.equal('2@code');
    expect(await readContent(store, address, tag)).to.deep.equal({
      content: { kind: 'text', text: 'hello' },
      reply: { kind: 'received', platformId: 'P', from: '44@s' },
    });
    const repeat = await findRepeat(store, { owner: 't', callersKey: 'k', address, isBound: true });
    expect(repeat.kind === 'used' && repeat.first.fingerprint).to.deep.equal(Buffer.alloc(32, 9));
    expect((await takeQuestions(store, ownership)).map(({ question }) => question)).to.deep.equal([
      { kind: 'session' },
    ]);
  }

  const usesOf = async (store: Store) =>
    (await countKeyUse(store)).map(({ ring, keyId, values, use }) => `${ring} ${keyId} ${use} ${values}`).sort();

  it('finds every value that is sealed, for whatever purpose', async () => {
    const sealed = new Set<string>();
    const { vault } = old;
    const seal: typeof vault.seal = (plain, purpose, place) => {
      sealed.add(`${purpose} ${place}`);
      return vault.seal(plain, purpose, place);
    };
    await writeAll({ ...old, vault: { ...vault, seal } });
    const found: string[] = [];
    for await (const values of findSealed(old))
      found.push(...values.map(({ purpose, place }) => `${purpose} ${place}`));
    expect([...new Set(found)]).to.have.members([...sealed]);
    expect(new Set(found.map((each) => each.split(' ')[0]))).to.deep.equal(new Set(Object.keys(RINGS)));
    expect(await usesOf(last), 'without a key, and unopened').to.deep.equal([
      'contents new seals 0',
      'contents old unknown 13',
      'credentials new seals 0',
      'credentials old unknown 3',
    ]);
  });

  it('lets no word, code or address of a reply lie open', async () => {
    await writeAll(old);
    const { commands } = space.clients;
    const open: string[] = [];
    for (const key of await commands.keys(`${space.prefix}:*`)) {
      const isHash = (await commands.type(key)) === 'hash';
      if (isHash) open.push(...Object.values(await commands.hgetall(key)));
      else if ((await commands.type(key)) === 'string') open.push(String(await commands.get(key)));
    }
    const all = open.flatMap((text) => [text, Buffer.from(text, 'base64').toString()]).join(' ');
    for (const word of ['hello', '2@code', '44@s', 'a word', 'https://x/']) expect(all).not.to.include(word);
  });

  it('seals everything with the first key, and what it says, when it was written and how long it lives stay', async () => {
    const written = await writeAll(old);
    const blob = workspaceKeys(space.store.space, 'main').blobChunk(written.hash, 0);
    const before = await space.store.redis.pexpiretime(blob);
    expect(before, 'it lives for a time').to.be.above(Date.now());
    const progress = await resealAll(both, nothing);
    expect(progress).to.include({ resealed: 16, unopened: 0 });
    expect(await usesOf(last)).to.deep.equal(['contents new seals 13', 'credentials new seals 3']);
    expect(await space.store.redis.pexpiretime(blob)).to.equal(before);
    await readAll(last, written);
    expect(await resealAll(both, nothing), 'again').to.include({ resealed: 0 });
  });

  it('does not make an old session look as if it were in use', async () => {
    const real = Date.now;
    Date.now = () => real() - 40 * MS_PER_DAY;
    try {
      await deviceKeyStore(old, ownership).commit({ keys: [{ type: 'session', id: '44.0', value: Buffer.of(7) }] });
    } finally {
      Date.now = real;
    }
    const day = await dayOfSession();
    expect(day).to.be.lessThan(Date.now() / MS_PER_DAY - 39);
    await resealAll(both, nothing);
    expect(await dayOfSession()).to.equal(day);
  });

  async function dayOfSession(): Promise<number> {
    for await (const values of findSealed(old)) {
      const [session] = values.filter(({ purpose }) => purpose === 'session');
      if (!session) continue;
      const sealed = (await space.store.redis.hgetBuffer(session.key, session.field))!;
      return sealed.readUInt16BE(2 + session.keyId.length);
    }
    throw new Error('there is no session');
  }

  /** One is a value of its own, the other one of a hash. */
  const inTurn = {
    credentials: {
      write: (text: string) => deviceKeyStore(old, ownership).commit({ creds: text }),
      read: (store: Store) => deviceKeyStore(store, ownership).readCreds(),
    },
    'a session': {
      write: (text: string) =>
        deviceKeyStore(old, ownership).commit({ keys: [{ type: 'session', id: '44.0', value: Buffer.from(text) }] }),
      read: async (store: Store) =>
        String((await deviceKeyStore(store, ownership).read('session', ['44.0'])).get('44.0')),
    },
  };
  for (const [what, { write, read }] of Object.entries(inTurn)) {
    it(`loses nothing that an owner writes between the reading of ${what} and its resealing`, async () => {
      await write('before');
      const { vault } = both;
      let writes = 0;
      const reseal: typeof vault.reseal = (...value) => {
        if (writes++ < 3) void write(`meanwhile ${writes}`);
        return vault.reseal(...value);
      };
      await resealAll({ ...both, vault: { ...vault, reseal } }, nothing);
      expect(await read(last)).to.equal('meanwhile 3');
    });
  }

  it('leaves what it cannot open, and says how much that is', async () => {
    await writeAll(old);
    expect(await resealAll(last, nothing)).to.include({ resealed: 0, unopened: 16 });
    expect(await usesOf(old)).to.deep.equal(['contents old seals 13', 'credentials old seals 3']);
  });
});
