import { requestLink, requestUnlink } from '@gateway/store/devices/device-state';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { beatHeart, leaveMembers } from '@gateway/store/fleet/members';
import { expect } from 'chai';
import { ACCOUNT, DEFAULT, linkDevice, ownDevice } from './support/device-owner.js';
import { useTestApi } from './support/use-test-api.js';

describe('GET /status', () => {
  const { space, api } = useTestApi();

  async function status(token?: string): Promise<Record<string, unknown>> {
    const answer = await api.call('GET', '/status', token === undefined ? {} : { token });
    expect(answer.status).to.equal(200);
    return answer.body;
  }

  it('is disconnected before anything was linked', async () => {
    expect(await status()).to.deep.equal({ success: true, status: 'disconnected', reason: 'never_linked' });
  });

  it('shows the account of a connected device; without a name its number, without a picture none', async () => {
    const owner = await linkDevice(space.store);
    expect(await status()).to.deep.equal({ success: true, status: 'connected', phone: ACCOUNT, name: 'Ada' });
    await owner.observe({ status: 'connected', phone: ACCOUNT, profilePic: 'https://example.com/ada.jpg' });
    expect(await status()).to.deep.equal({
      success: true,
      status: 'connected',
      phone: ACCOUNT,
      name: ACCOUNT,
      profilePic: 'https://example.com/ada.jpg',
    });
  });

  it('is connecting while a link is under way', async () => {
    await requestLink(space.store, DEFAULT, { attemptId: 'att_1', method: 'qrCode', forceNew: false });
    expect(await status()).to.deep.equal({ success: true, status: 'connecting', reason: 'linking' });
  });

  it('is connecting, not connected, when the owner is gone', async () => {
    const sender = { id: 'sender-1', held: 1, capacity: 1 };
    await beatHeart(space.store, { self: { ...sender, held: 0 }, ttlMs: 60_000 });
    const owner = await linkDevice(space.store);
    await owner.release();
    expect(await status()).to.deep.equal({ success: true, status: 'connecting', reason: 'owner_lost' });
    const noSender = { success: true, status: 'connecting', reason: 'no_sender' };
    await beatHeart(space.store, { self: sender, ttlMs: 60_000 });
    expect(await status(), 'all are full').to.deep.equal(noSender);
    await leaveMembers(space.store, sender.id);
    expect(await status(), 'none runs').to.deep.equal(noSender);
  });

  it('says why a device is not connected', async () => {
    const owner = await linkDevice(space.store);
    await owner.observe({ status: 'connecting', reason: 'network' });
    expect(await status()).to.deep.equal({ success: true, status: 'connecting', reason: 'network' });
    await owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    expect(await status()).to.deep.equal({ success: true, status: 'disconnected', reason: 'logged_out' });
  });

  it('tells of a restriction of the network, its end where it is known, and nothing when it is lifted', async () => {
    const { ownership } = await linkDevice(space.store);
    const sinceMs = Date.parse('2030-01-02T00:00:00Z');
    await recordRestriction(space.store, ownership, {
      kind: 'reach_out_time_lock',
      sinceMs,
      untilMs: sinceMs + 3_600_000,
    });
    expect(await status()).to.deep.include({
      status: 'connected',
      restriction: {
        kind: 'reach_out_time_lock',
        since: '2030-01-02T00:00:00.000Z',
        until: '2030-01-02T01:00:00.000Z',
      },
    });
    await recordRestriction(space.store, ownership, { kind: 'new_chat_cap', sinceMs });
    expect(await status()).to.deep.include({
      restriction: { kind: 'new_chat_cap', since: '2030-01-02T00:00:00.000Z', until: null },
    });
    await recordRestriction(space.store, ownership, undefined);
    expect(await status()).not.to.have.property('restriction');
  });

  it('is disconnected as soon as that was asked for', async () => {
    await linkDevice(space.store);
    await requestUnlink(space.store, DEFAULT, { attemptId: 'att_2' });
    expect(await status()).to.include({ status: 'disconnected' });
  });

  it("shows the token's own device, else the default one", async () => {
    const shop = { workspace: 'main', device: 'shop' };
    await linkDevice(space.store, shop);
    const { value } = await api.newToken({ device: 'shop' });
    expect(await status(value)).to.include({ status: 'connected' });
    expect(await status()).to.include({ status: 'disconnected' });
  });

  it('refuses parameters that it does not know', async () => {
    await ownDevice(space.store);
    const { status: code, body } = await api.call('GET', '/status?device=shop');
    expect(code).to.equal(400);
    expect(body.details).to.deep.equal([{ path: ['device'], message: 'is not allowed' }]);
  });
});
