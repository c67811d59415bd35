import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError } from '@gateway/runtime/errors';
import { ensureDevice, hasIdKey, readDevice, readIdKey } from '@gateway/store/devices/devices';
import { takeAccount } from '@gateway/store/devices/take-account';
import { acquireLease, releaseLease } from '@gateway/store/fleet/leases';
import { acceptSend, openSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { expect } from 'chai';
import { KNOWN, OTHER, useLeasedDevice } from './support/use-leased-device.js';

describe('the account of a device', () => {
  const { address, space, lease } = useLeasedDevice();
  beforeEach(() => ensureDevice(space.store, address));

  const nowMs = Date.now();
  const take = (phone: string) => takeAccount(space.store, lease, { phone, nowMs });
  async function accept(): Promise<string> {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['491511', '491512'] },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    await openSend(space.store, address, messageId);
    return messageId;
  }
  const countsOf = async (messageId: string) => (await readSend(space.store, address, messageId))!.counts;
  const loseIdKey = () => space.store.redis.hset(deviceKeys(space.store.space, address).device, 'idKey', 'unreadable');

  it('keeps what is queued for it, however often it logs in', async () => {
    expect(await take(KNOWN)).to.deep.equal({ isOther: false });
    const messageId = await accept();
    const key = await readIdKey(space.store, address);
    expect(await take(KNOWN)).to.deep.equal({ isOther: false });
    expect(await countsOf(messageId)).to.include({ queued: 2, cancelled: 0 });
    expect(await readIdKey(space.store, address)).to.deep.equal(key);
    expect(await readDevice(space.store, address)).to.include({ account: KNOWN, accountSinceMs: nowMs });
  });

  it('sends nothing that was meant to come from another', async () => {
    await take(KNOWN);
    const sends = [await accept(), await accept()];
    expect(await take(OTHER)).to.deep.equal({ isOther: true });
    for (const messageId of sends) expect(await countsOf(messageId)).to.include({ queued: 0, cancelled: 2 });
    expect((await readDevice(space.store, address))?.account).to.equal(OTHER);
  });

  it('tries nothing again whose ids cannot be made any more, and has other ids from then on', async () => {
    await take(KNOWN);
    const messageId = await accept();
    await loseIdKey();
    expect(await hasIdKey(space.store, address)).to.equal(false);
    expect(await take(KNOWN)).to.deep.equal({ isOther: false });
    expect(await countsOf(messageId)).to.include({ queued: 0, cancelled: 2 });
    expect(await hasIdKey(space.store, address)).to.equal(true);
  });

  it('is not changed by a stale owner, who cancels nothing either', async () => {
    await take(KNOWN);
    const messageId = await accept();
    await releaseLease(space.store, lease);
    await acquireLease(space.store, address, { owner: 'b', ttlMs: 60_000 });
    expect(await take(OTHER).catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
    expect(await countsOf(messageId)).to.include({ queued: 2, cancelled: 0 });
    expect((await readDevice(space.store, address))?.account).to.equal(KNOWN);
  });
});
