import { deviceKeys } from '@gateway/contracts/redis-keys';
import {
  cancelLink,
  readDeviceState,
  recordObserved,
  requestLink,
  requestUnlink,
} from '@gateway/store/devices/device-state';
import { ensureDevice, readIdKey } from '@gateway/store/devices/devices';
import { deviceKeyStore, retireKeys } from '@gateway/store/devices/keys/device-keys';
import { takeAccount } from '@gateway/store/devices/take-account';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { readReceived, recordReceived } from '@gateway/store/inbound/received-messages';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const message = { platformId: 'P1', jid: '7@lid', text: 'hello' };

describe('the rules of a device', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  beforeEach(async () => {
    space = await openRedisSpace();
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    await ensureDevice(space.store, address);
  });
  afterEach(() => space.close());

  const link = (attemptId: string, options: { phone?: string; forceNew?: boolean } = {}) =>
    requestLink(space.store, address, {
      ...{ attemptId, method: options.phone ? 'pairingCode' : 'qrCode', forceNew: options.forceNew ?? false },
      ...(options.phone && { phone: options.phone }),
    });
  const desired = async () => (await readDeviceState(space.store, address)).desired;
  const observed = async () => (await readDeviceState(space.store, address)).observed;
  async function becomeLinked() {
    await link('one');
    await recordObserved(space.store, ownership, {
      actedOn: await desired(),
      observed: { status: 'connected' },
      want: 'linked',
    });
  }

  it('what the owner saw counts only for the wish that it acted on, and whole', async () => {
    await link('one');
    const first = await desired();
    const seen = { actedOn: first, observed: { status: 'connecting', code: 'C1' } } as const;
    expect(await recordObserved(space.store, ownership, seen as never)).to.equal('ok');
    expect(
      await recordObserved(space.store, ownership, { actedOn: first, observed: { status: 'connected' } }),
    ).to.equal('ok');
    expect(await observed(), 'nothing is left of what was seen before').not.to.have.property('code');
    await link('two', { phone: '447700900123' });
    expect(
      await recordObserved(space.store, ownership, {
        actedOn: first,
        observed: { status: 'disconnected' },
        want: 'unlinked',
      }),
    ).to.equal('moved');
    expect(await desired()).to.include({ want: 'linking', attemptId: 'two', phone: '447700900123' });
    expect(await observed()).to.include({ status: 'connected' });
  });

  it('an attempt to link goes on for the same phone, and another phone starts another', async () => {
    await link('one', { phone: '447700900123' });
    expect(await link('two', { phone: '447700900123' })).to.deep.equal({ outcome: 'inProgress', attemptId: 'one' });
    expect((await link('three', { phone: '447700900124' })).outcome).to.equal('started');
    expect((await link('four')).outcome).to.equal('started');
    expect(await desired(), 'nothing is left of the one before').not.to.have.property('phone');
  });

  it('a linked device is linked again only by force', async () => {
    await becomeLinked();
    expect((await link('two')).outcome).to.equal('alreadyLinked');
    expect((await link('two', { forceNew: true })).outcome).to.equal('started');
  });

  it('only the attempt that is meant is cancelled, and only while it lasts', async () => {
    await link('one');
    const cancel = (attemptId: string) => cancelLink(space.store, address, { attemptId, reason: 'link_timeout' });
    expect(await cancel('another')).to.equal(false);
    expect(await cancel('one')).to.equal(true);
    expect(await observed()).to.include({ status: 'disconnected', reason: 'link_timeout' });
    expect(await cancel('one')).to.equal(false);
    await becomeLinked();
    expect(await cancel('one'), 'it is linked').to.equal(false);
    expect(await desired()).to.include({ want: 'linked' });
  });

  it('the wish to unlink is one wish, however often it is said', async () => {
    expect(await requestUnlink(space.store, address, { attemptId: 'u0' })).to.include({ outcome: 'nothingLinked' });
    await link('one');
    expect(
      await requestUnlink(space.store, address, { attemptId: 'u1' }),
      'also while it is being linked',
    ).to.deep.equal({ outcome: 'requested', attemptId: 'u1' });
    await deviceKeyStore(space.store, ownership).commit({ creds: 'keys' });
    expect(await requestUnlink(space.store, address, { attemptId: 'u2' })).to.deep.equal({
      outcome: 'requested',
      attemptId: 'u1',
    });
  });

  it('another account has nothing of what the one before received', async () => {
    const take = (phone: string) => takeAccount(space.store, ownership, { phone, nowMs: Date.now() });
    const received = () => readReceived(space.store, address, { receivedId: 'P1', nowMs: Date.now() });
    await take('447700900123');
    await recordReceived(space.store, ownership, { message, nowMs: Date.now() });
    expect(await take('447700900123')).to.deep.equal({ isOther: false });
    expect(await received()).to.include({ text: 'hello' });
    expect(await take('447700900124')).to.deep.equal({ isOther: true });
    expect(await received()).to.equal(undefined);
  });

  it('an account stays what it is while Redis does not answer: nothing that was promised is cancelled', async () => {
    const take = (store = space.store) => takeAccount(store, ownership, { phone: '447700900123', nowMs: Date.now() });
    await take();
    const nowMs = Date.now();
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['491511'] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    const idKey = await readIdKey(space.store, address);
    const away = new Error('Redis is away');
    // Away for one command.
    const redis = Object.create(space.store.redis, { hgetBuffer: { value: () => Promise.reject(away) } });
    expect(await take({ ...space.store, redis }).catch((thrown: unknown) => thrown)).to.equal(away);
    expect(await readIdKey(space.store, address)).to.deep.equal(idKey);
    expect((await readSend(space.store, address, messageId))?.counts).to.include({ queued: 1 });
  });

  it('keys of a device are written and removed one by one, and set aside for a time as a whole', async () => {
    const keys = deviceKeyStore(space.store, ownership);
    const value = (text: string) => Buffer.from(text);
    await keys.commit({
      creds: 'creds',
      keys: [
        { type: 'session', id: '1.0', value: value('s1') },
        { type: 'session', id: '2.0', value: value('s2') },
      ],
    });
    await keys.commit({ keys: [{ type: 'session', id: '1.0', value: null }] });
    expect(await keys.readCreds()).to.equal('creds');
    expect([...(await keys.read('session', ['1.0', '2.0'])).keys()]).to.deep.equal(['2.0']);
    await retireKeys(space.store, ownership, { quarantine: true });
    const { creds, quarantinedCreds } = deviceKeys(space.store.space, address);
    expect(await keys.readCreds()).to.equal(undefined);
    expect((await keys.read('session', ['2.0'])).size).to.equal(0);
    expect(await space.clients.commands.exists(creds)).to.equal(0);
    expect(await space.clients.commands.pttl(quarantinedCreds)).to.be.above(0);
  });
});
