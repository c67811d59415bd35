import { defaultPace } from '@gateway/contracts/devices/pace';
import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import { openEdit } from '@gateway/messenger/inbound/open-edit';
import type { IncomingMessage } from '@gateway/messenger/session/session-events';
import { systemClock } from '@gateway/runtime/clock';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { DeviceOwner } from '@gateway/sender/device/device-owner';
import { loadSend } from '@gateway/sender/preparing/load-send';
import { TakeIns } from '@gateway/sender/preparing/take-ins';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import { putBlob, readBlob } from '@gateway/store/blobs/blobs';
import { createStore, type Store } from '@gateway/store/core/store';
import { UnknownKeyError } from '@gateway/store/core/vault';
import { readDeviceState, reportObserved, requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice, readIdKey, sealIdKey } from '@gateway/store/devices/devices';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { takeAccount } from '@gateway/store/devices/take-account';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { readEdit } from '@gateway/store/inbound/read-edit';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readRecipients, readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { logInOnScript } from '@gateway/testkit/scripted-session';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import PQueue from 'p-queue';

const address = { workspace: 'main', device: 'shop' };
const OLD = { id: 'old', key: Buffer.alloc(32, 1) };
const NEW = { id: 'new', key: Buffer.alloc(32, 2) };

describe('a key that this process does not have', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  /** Of a process with the keys of before, of one with the new ones in front, and of one that has dropped the old. */
  let old: Store;
  let both: Store;
  let dropped: Store;

  beforeEach(async () => {
    space = await openRedisSpace();
    const { redis, space: keySpace } = space.store;
    const storeWith = (...keys: (typeof OLD)[]) =>
      createStore({ redis, space: keySpace, keyRings: { credentials: keys, contents: keys } });
    [old, both, dropped] = [storeWith(OLD), storeWith(NEW, OLD), storeWith(NEW)];
    ownership = (await takeDevice(old, address, { owner: 'a', ttlMs: 60_000 }))!;
    await ensureDevice(old, address);
  });
  afterEach(() => space.close());

  async function accept(store: Store): Promise<string> {
    const nowMs = Date.now();
    const { messageId } = await acceptSend(store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['491511', '491512'] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    return messageId;
  }
  async function load(store: Store, messageId: string) {
    const registry = createMetrics();
    const metrics = createSenderMetrics(registry, () => ({}));
    const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {}, error: () => {} };
    const ids = platformIds((await readIdKey(old, address))!);
    const held = { ...ownership, assertHeld: () => {}, lost: new AbortController().signal };
    const memory = new MemoryBudget();
    const deps = { store, ownership: held, clock: systemClock, logger, metrics, ids, memory };
    const send = await loadSend({ ...deps, takeIns: new TakeIns(deps) }, messageId, {});
    return { send, metrics: await registry.metrics() };
  }

  it('lets the recipients of a send wait, shows why, and fails none', async () => {
    const messageId = await accept(both);
    const { send, metrics } = await load(old, messageId);
    expect(send, 'nothing to send now').to.equal('later');
    const recipients = await readRecipients(old, address, parseMessageId(messageId)!.tag, { from: 0, limit: 2 });
    expect(recipients.map(({ status, errorCode }) => [status, recipientErrorName(errorCode)])).to.deep.equal([
      ['queued', 'awaiting_key'],
      ['queued', 'awaiting_key'],
    ]);
    expect((await readSend(old, address, messageId))!.state).to.equal('open');
    expect(metrics).to.match(/gateway_sends_awaiting_key_total\S* 1\n/);
    const later = await load(both, messageId);
    expect(later.send, 'with the key it goes out').to.have.property('messageId', messageId);
    const [first] = await readRecipients(old, address, parseMessageId(messageId)!.tag, { from: 0, limit: 1 });
    expect([first!.status, first!.errorCode], 'and waits for its turn only').to.deep.equal(['queued', 0]);
  });

  it('still fails what is broken', async () => {
    const messageId = await accept(both);
    const key = `${space.prefix}:{#54}:main/shop:c:${parseMessageId(messageId)!.tag}`;
    const content = (await space.store.redis.getBuffer(key))!;
    content.writeUInt8(content.at(-1)! ^ 1, content.length - 1);
    await space.store.redis.set(key, content);
    await load(both, messageId);
    expect((await readSend(both, address, messageId))!.counts).to.include({ queued: 0, failed: 2 });
  });

  it('lets the keys of an account be where they are', async () => {
    await deviceKeyStore(both, ownership).commit({
      creds: '{}',
      keys: [{ type: 'session', id: 'x.0', value: Buffer.of(1) }],
    });
    const keys = deviceKeyStore(old, ownership);
    for (const reading of [keys.readCreds(), keys.read('session', ['x.0'])]) {
      expect(await reading.catch((error: Error) => error)).to.be.instanceOf(UnknownKeyError);
    }
    expect(await deviceKeyStore(both, ownership).readCreds()).to.equal('{}');
  });

  it('is replaced in the ids of a device when it is linked again, and nothing of before is tried again', async () => {
    const link = (store: Store) => takeAccount(store, ownership, { phone: '491700000001', nowMs: Date.now() });
    await link(old);
    const messageId = await accept(old);
    const idKey = await readIdKey(old, address);
    await link(both);
    expect(await readIdKey(both, address), 'that can be opened stays').to.deep.equal(idKey);
    expect((await readSend(both, address, messageId))!.counts.queued).to.equal(2);
    expect(await readIdKey(dropped, address).catch((error: Error) => error)).to.be.instanceOf(UnknownKeyError);
    expect(await link(dropped)).to.deep.equal({ isOther: false });
    expect(await readIdKey(dropped, address)).to.have.length(16);
    expect((await readSend(dropped, address, messageId))!.counts).to.include({ queued: 0, cancelled: 2 });
    await link(dropped);
    expect(await readIdKey(dropped, address), 'once').to.not.deep.equal(idKey);
  });

  it('leaves an edit sealed whose message was sealed with it', async () => {
    const nowMs = Date.now();
    const writer = { jid: '491512@s.whatsapp.net', phone: '491512' };
    const original = {
      ...writer,
      platformId: '3AONE',
      text: 'at nine',
      secret: Buffer.alloc(32, 3).toString('base64'),
    };
    await recordReceived(old, ownership, { message: original, nowMs });
    const edit = {
      platformId: '3ATWO',
      text: '',
      content: { type: 'edited', to: { platformId: '3AONE' } },
      atMs: nowMs,
    };
    const sealedEdit = { payload: Buffer.alloc(40).toString('base64'), iv: Buffer.alloc(12).toString('base64') };
    const message = { ...writer, ...edit, sealedEdit } as IncomingMessage;
    expect(await readEdit(dropped, address, { message, nowMs, openEdit })).to.deep.equal({ ...writer, ...edit });
  });

  it('is replaced in a file that is sent again', async () => {
    const bytes = Buffer.alloc(700_000, 7);
    const put = (store: Store) => putBlob(store, 'main', { bytes, nowMs: Date.now(), quotaBytes: 10_000_000 });
    const { hash } = (await put(old)) as { hash: string };
    await put(dropped);
    expect(await readBlob(dropped, 'main', { hash, sizeBytes: bytes.length })).to.deep.equal(bytes);
  });

  it('keeps the owner of a device waiting, who says so, until the key is there', async () => {
    await requestLink(old, address, { attemptId: 'one', method: 'qrCode', forceNew: false });
    await deviceKeyStore(dropped, ownership).commit({ creds: '{"account":{},"me":{"id":"1@s.whatsapp.net"}}' });
    const { desired } = await readDeviceState(old, address);
    await reportObserved(old, ownership, desired!, { status: 'connecting', reason: 'restoring' }, 'linked');
    await giveDeviceBack(old, ownership);
    const shared = { store: dropped, clock: systemClock, logger: silentLogger };
    const keeper = new SessionKeeper({ ...shared, owner: 'b', ttlMs: 60_000 });
    const owner = new DeviceOwner(
      {
        ...{ ...shared, keeper, lookMs: { busy: 10, quiet: 10 } },
        metrics: createSenderMetrics(createMetrics(), () => ({})),
        endpoint: { url: 'ws://127.0.0.1:1', trust: { kind: 'insecure' } },
        openSession: logInOnScript({}, { jid: '1@s.whatsapp.net', phone: '491700000031', name: 'Shop' }),
        clientVersion: new ClientVersion(shared),
        ...{ defaultPace: defaultPace(0), ackTimeoutMs: 5_000, uploads: new PQueue(), openings: new PQueue() },
        memory: new MemoryBudget(),
      },
      (await keeper.acquire(address))!,
    );
    const { device } = deviceKeys(old.space, address);
    const reason = async () => (await readDeviceState(old, address)).observed?.reason;
    await eventually(async () => (await reason()) === 'keys_unreadable', { everyMs: 5 });
    expect(owner.state).to.equal('waiting');
    await old.redis.hset(device, 'idKey', sealIdKey(dropped, address));
    await owner.ended;
    expect(owner.failed, 'the device may be claimed at once').to.equal(false);
    keeper.stop();
  });
});
