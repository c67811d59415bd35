import { readDeviceState, requestLink } from '@gateway/store/devices/device-state';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { DEFAULT, type DeviceOwner, linkDevice } from './support/device-owner.js';
import { startTestApi } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

describe('POST /disconnect', () => {
  const { space, api } = useTestApi();

  async function answerUnlink(owner: DeviceOwner, logout: 'confirmed' | 'unconfirmed'): Promise<void> {
    await eventually(async () => (await readDeviceState(space.store, DEFAULT)).desired?.want === 'unlinked');
    await owner.observe({ status: 'disconnected', reason: 'disconnected', logout });
  }

  it('says so when there is nothing to disconnect, as often as it is asked', async () => {
    for (let i = 0; i < 2; i++) {
      const { status, body } = await api.call('POST', '/disconnect');
      expect(status).to.equal(200);
      expect(body).to.deep.equal({ success: true, message: 'No account was linked to this device.' });
    }
  });

  it('waits for the owner to log out at the network', async () => {
    const owner = await linkDevice(space.store);
    const answer = api.call('POST', '/disconnect');
    await answerUnlink(owner, 'confirmed');
    expect((await answer).body).to.deep.equal({ success: true, message: 'Disconnected and logged out.' });
    expect((await api.call('GET', '/status')).body).to.include({ status: 'disconnected', reason: 'disconnected' });
  });

  it('tells when the network could not be told', async () => {
    const owner = await linkDevice(space.store);
    const answer = api.call('POST', '/disconnect');
    await answerUnlink(owner, 'unconfirmed');
    const { status, body } = await answer;
    expect(status).to.equal(200);
    expect(body.success).to.equal(true);
    expect(body.message).to.include('the phone may still list this device');
  });

  it('gives two callers the same answer', async () => {
    const owner = await linkDevice(space.store);
    const answers = [api.call('POST', '/disconnect'), api.call('POST', '/disconnect')];
    await answerUnlink(owner, 'confirmed');
    const messages = (await Promise.all(answers)).map(({ body }) => body.message);
    expect(messages).to.include('Disconnected and logged out.');
  });

  it('stops waiting when a new link is requested', async () => {
    await linkDevice(space.store);
    const answer = api.call('POST', '/disconnect');
    await eventually(async () => (await readDeviceState(space.store, DEFAULT)).desired?.want === 'unlinked');
    await requestLink(space.store, DEFAULT, { attemptId: 'att_new', method: 'qrCode', forceNew: false });
    expect((await answer).body.message).to.include('has not confirmed yet');
  });

  it('ends the wait for an owner that never answers', async () => {
    const impatient = await startTestApi(space, { waits: { logoutMs: 300 } });
    await linkDevice(space.store);
    const { status, body } = await impatient.call('POST', '/disconnect');
    await impatient.close();
    expect(status).to.equal(200);
    expect(body.message).to.include('has not confirmed yet');
  });
});
