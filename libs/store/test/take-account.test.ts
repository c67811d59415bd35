import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { FencedError } from '@gateway/runtime/errors';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { ensureDevice, hasIdKey, readDevice, readIdKey } from '@gateway/store/devices/devices';
import { takeAccount } from '@gateway/store/devices/take-account';
import { readReceived, recordReceived } from '@gateway/store/inbound/received-messages';
import { acceptSend, OtherAccountError } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, claimRecipient } from '@gateway/store/sends/change-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { readRecipients, readSend } from '@gateway/store/sends/read-send';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { expireSends } from '@gateway/testkit/sends/expire-sends';
import { expect } from 'chai';
import { askingTwice } from './support/asking-twice.js';
import { KNOWN, OTHER, useOwnedDevice } from './support/use-owned-device.js';

describe('the account of a device', () => {
  const { address, space, ownership } = useOwnedDevice();
  beforeEach(() => ensureDevice(space.store, address));

  const nowMs = Date.now();
  const take = (phone: string) => takeAccount(space.store, ownership, { phone, nowMs });
  const readEpoch = async () => (await readDeviceState(space.store, address)).accountEpoch;
  async function accept(accountEpoch?: number): Promise<string> {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['491511', '491512'] },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
      accountEpoch: accountEpoch ?? (await readEpoch()),
    });
    return messageId;
  }
  const claim = (messageId: string, recipient: number) =>
    claimRecipient(space.store, ownership, {
      tag: parseMessageId(messageId)!.tag,
      recipient,
      part: 0,
      nowMs: Date.now(),
    });
  /** As if the process died right after the step that says so. */
  const takeAndDie = async (phone: string) => {
    const died = new Error('died');
    const run: RunScript = (name, keys, args) =>
      name === 'cancel-send' ? Promise.reject(died) : space.store.run(name, keys, args);
    const dying = takeAccount({ ...space.store, run }, ownership, { phone, nowMs });
    expect(await dying.catch((thrown: unknown) => thrown)).to.equal(died);
  };
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

  it('has the epoch of a new device while it is the first, and 0 in one that was made before such were random', async () => {
    const accountEpoch = await readEpoch();
    await take(KNOWN);
    expect(await readEpoch()).to.equal(accountEpoch);
    expect(await readSend(space.store, address, await accept())).to.include({ accountEpoch });
    await space.store.redis.hdel(deviceKeys(space.store.space, address).device, 'accountEpoch');
    await ensureDevice(space.store, address);
    expect(await readSend(space.store, address, await accept())).to.include({ accountEpoch: 0 });
  });

  it('is not that of a device of the same name which is made when this one has gone, with the workspace', async () => {
    const accountEpoch = await readEpoch();
    const { device } = deviceKeys(space.store.space, address);
    await space.store.redis.del(device);
    const late = (epoch: number) => accept(epoch).catch((thrown: unknown) => thrown);
    for (const epoch of [0, accountEpoch]) expect(await late(epoch)).to.be.instanceOf(OtherAccountError);
    await ensureDevice(space.store, address);
    for (const epoch of [0, accountEpoch]) expect(await late(epoch)).to.be.instanceOf(OtherAccountError);
    expect(await listOpenSends(space.store, address)).to.deep.equal([]);
  });

  it('sends nothing that was meant to come from another', async () => {
    await take(KNOWN);
    const sends = [await accept(), await accept()];
    expect(await take(OTHER)).to.deep.equal({ isOther: true });
    for (const messageId of sends) expect(await countsOf(messageId)).to.include({ queued: 0, cancelled: 2 });
    expect((await readDevice(space.store, address))?.account).to.equal(OTHER);
  });

  it('sends nothing that was meant to come from another and may have arrived: the next attempt would come from someone else', async () => {
    await take(KNOWN);
    const messageId = await accept();
    expect(await claim(messageId, 0)).to.equal('claimed');
    await take(OTHER);
    expect(await countsOf(messageId), 'a phone may show one').to.include({ queued: 0, cancelled: 1, failed: 1 });
    const { tag } = parseMessageId(messageId)!;
    const [first] = await readRecipients(space.store, address, tag, { from: 0, limit: 1 });
    expect(recipientErrorName(first!.errorCode)).to.equal('account_changed');
    expect(await claim(messageId, 0)).to.equal('settled');
    expect(await readSend(space.store, address, messageId)).to.include({ state: 'closed' });
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(0);
  });

  it('is another one in one step: what was open is claimed no more, and called cancelled, though that process died right then', async () => {
    await take(KNOWN);
    const [sent, cancelled, shown, forgotten] = [await accept(), await accept(), await accept(), await accept()];
    await claim(sent, 0);
    await claim(cancelled, 0);
    await takeAndDie(OTHER);
    expect(await claim(sent, 0), 'attempted before').to.equal('cancelled');
    expect(await claim(sent, 1)).to.equal('cancelled');
    expect(await cancelSend(space.store, address, cancelled)).to.deep.equal({ cancelled: 1 });
    expect(await countsOf(cancelled)).to.include({ queued: 0, cancelled: 1, failed: 1 });
    expect(await countsOf(shown)).to.include({ queued: 0, cancelled: 2 });
    expect(await expireSends(space.store, ownership, Date.now() + 60_001)).to.have.members([sent, forgotten]);
    expect(await countsOf(sent)).to.include({ queued: 0, cancelled: 1, failed: 1 });
    expect(await countsOf(forgotten)).to.include({ queued: 0, cancelled: 2 });
    expect(await claim(await accept(), 0), 'of the account that is there now').to.equal('claimed');
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(2);
  });

  it('gets nothing that was about to be accepted for another', async () => {
    await take(KNOWN);
    const before = await readEpoch();
    const messageId = await accept();
    await take(KNOWN);
    expect(await readEpoch(), 'the same account').to.equal(before);
    expect(await countsOf(messageId)).to.include({ queued: 2 });
    await take(OTHER);
    expect(await accept(before).catch((thrown: unknown) => thrown)).to.be.instanceOf(OtherAccountError);
    expect(await listOpenSends(space.store, address)).to.deep.equal([]);
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(0);
    expect(await countsOf(messageId)).to.include({ queued: 0, cancelled: 2 });
  });

  it('tries nothing again whose ids cannot be made any more, and has other ids from then on', async () => {
    await take(KNOWN);
    const messageId = await accept();
    await loseIdKey();
    expect(await hasIdKey(space.store, address)).to.equal(false);
    expect(await take(KNOWN)).to.deep.equal({ isOther: false });
    expect(await countsOf(messageId)).to.include({ queued: 0, cancelled: 2 });
    expect(await hasIdKey(space.store, address)).to.equal(true);
    const written = await accept();
    await loseIdKey();
    await takeAndDie(KNOWN);
    expect(await claim(written, 0), 'also when that process died right then').to.equal('cancelled');
  });

  it('is another one once where the step comes twice, as its first answer was lost', async () => {
    await take(KNOWN);
    const before = await readEpoch();
    await loseIdKey();
    await takeAccount(askingTwice(space.store), ownership, { phone: KNOWN, nowMs });
    expect(await readEpoch()).to.equal(before + 1);
  });

  it('begins after all that was received, by whatever clock', async () => {
    await take(KNOWN);
    const message = { platformId: 'P1', jid: 'x@s.whatsapp.net', text: 'hello' };
    const laterMs = nowMs + 60_000;
    await recordReceived(space.store, ownership, { message, nowMs: laterMs });
    await take(OTHER);
    expect((await readDevice(space.store, address))?.accountSinceMs).to.equal(laterMs + 1);
    expect(await readReceived(space.store, address, { receivedId: 'P1', nowMs: laterMs })).to.equal(undefined);
  });

  it('is not changed by a stale owner, who cancels nothing either', async () => {
    await take(KNOWN);
    const messageId = await accept();
    await giveDeviceBack(space.store, ownership);
    await takeDevice(space.store, address, { owner: 'b', ttlMs: 60_000 });
    expect(await take(OTHER).catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
    expect(await countsOf(messageId)).to.include({ queued: 2, cancelled: 0 });
    expect((await readDevice(space.store, address))?.account).to.equal(KNOWN);
  });
});
