import { shortDeviceId } from '@gateway/contracts/ids';
import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { readDeviceState, requestUnlink } from '@gateway/store/devices/device-state';
import { findDeviceByShortId, listDevices } from '@gateway/store/devices/devices';
import { notePasskeyDemand } from '@gateway/store/devices/incidents/note-passkey-demand';
import { revokeApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import {
  ACCOUNT,
  addSender,
  DEFAULT,
  type DeviceOwner,
  linkDevice,
  ownDevice,
  type TestSender,
} from './support/device-owner.js';
import { type Answer, startTestApi, type TestApi } from './support/test-api.js';

const QR = 'https://wa.me/settings/linked_devices#2@ref,noise,identity,secret,1';
const LATER = () => Date.now() + 20_000;

describe('GET|POST /connect', () => {
  let space: RedisSpace;
  let api: TestApi;
  let owner: DeviceOwner;
  let sender: TestSender;

  beforeEach(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space);
    sender = await addSender(space.store);
    owner = await ownDevice(space.store);
  });
  afterEach(async () => {
    await sender.leave();
    await api.close();
    await space.close();
  });

  const desired = async () => (await readDeviceState(space.store, DEFAULT)).desired;
  const whenWanted = (want: string) =>
    eventually(async () => {
      const state = await desired();
      return state?.want === want && state;
    });
  async function showCode(code: string): Promise<void> {
    await owner.observe({ status: 'connecting', reason: 'linking', code, codeExpiresAtMs: LATER() });
  }

  it('starts a link and answers with its first QR code as a picture', async () => {
    const answer = api.call('POST', '/connect');
    expect(await whenWanted('linking')).to.include({ method: 'qrCode' });
    await showCode(QR);
    const { status, body } = await answer;
    expect(status).to.equal(200);
    expect(body).to.have.all.keys('success', 'status', 'qrCode');
    expect(body).to.include({ success: true, status: 'connecting' });
    const [prefix, data] = String(body.qrCode).split(',');
    expect(prefix).to.equal('data:image/png;base64');
    expect(Buffer.from(data!, 'base64').subarray(1, 4).toString()).to.equal('PNG');
  });

  it('answers with the raw code when asked for it, by GET too', async () => {
    const answer = api.call('GET', '/connect?rawQrCode=true&method=qrCode');
    await whenWanted('linking');
    await showCode(QR);
    expect((await answer).body).to.deep.equal({ success: true, status: 'connecting', qrCode: QR });
  });

  it('links by pairing code with a number written as people do', async () => {
    const answer = api.call('POST', '/connect?method=pairingCode&phoneNumber=%2B44%207700-900(123)');
    expect(await whenWanted('linking')).to.include({ method: 'pairingCode', phone: ACCOUNT });
    await showCode('ABCD1234');
    expect((await answer).body).to.deep.equal({ success: true, status: 'connecting', pairingCode: 'ABCD1234' });
  });

  it('puts a linked device back into the list of its workspace, which a failover may have taken', async () => {
    await owner.observe({ status: 'connected' }, 'linked');
    const { devices, shortDeviceIds } = workspaceKeys(space.store.space, DEFAULT.workspace);
    await space.store.redis.del(devices, shortDeviceIds);
    expect((await api.call('POST', '/connect')).status).to.equal(200);
    expect(await listDevices(space.store, DEFAULT.workspace)).to.deep.equal([DEFAULT.device]);
    expect(await findDeviceByShortId(space.store, DEFAULT.workspace, shortDeviceId(DEFAULT))).to.equal(DEFAULT.device);
  });

  it('shows no code to one whose token was revoked while it waited', async () => {
    const { value, token } = await api.newToken();
    const answer = api.call('POST', '/connect?rawQrCode=true', { token: value });
    await whenWanted('linking');
    await revokeApiToken(space.store, 'main', token.keyId);
    await eventually(async () => (await api.call('GET', '/messages', { token: value })).status === 401);
    await showCode(QR);
    expect((await answer).status).to.equal(401);
  });

  it('joins the attempt that is under way: two callers, one attempt, one code', async () => {
    const first = api.call('POST', '/connect?rawQrCode=true');
    const { attemptId } = await whenWanted('linking');
    const second = api.call('POST', '/connect?rawQrCode=true');
    await showCode(QR);
    expect((await first).body.qrCode).to.equal(QR);
    expect((await second).body.qrCode).to.equal(QR);
    expect((await desired())?.attemptId).to.equal(attemptId);
    await showCode(`${QR}-next`);
    expect((await api.call('POST', '/connect?rawQrCode=true')).body.qrCode, 'the code of now').to.equal(`${QR}-next`);
  });

  it('never answers with a code that is over or of an earlier attempt', async () => {
    const first = api.call('POST', '/connect?rawQrCode=true');
    await whenWanted('linking');
    await owner.observe({ status: 'connecting', code: 'old', codeExpiresAtMs: Date.now() - 1 });
    await showCode(QR);
    expect((await first).body.qrCode).to.equal(QR);
    const anew = api.call('POST', '/connect?rawQrCode=true&forceNew=true');
    const before = (await desired())?.attemptId;
    await eventually(async () => (await desired())?.attemptId !== before);
    await showCode(`${QR}-new`);
    expect((await anew).body.qrCode).to.equal(`${QR}-new`);
  });

  it('has no code for a device that is connected', async () => {
    await owner.release();
    await linkDevice(space.store);
    expect((await api.call('POST', '/connect')).body).to.deep.equal({ success: true, status: 'connected' });
  });

  it('says connected to a caller whose code was used while another one waited', async () => {
    const answer = api.call('POST', '/connect');
    await whenWanted('linking');
    await owner.observe({ status: 'connected', phone: ACCOUNT }, 'linked');
    expect((await answer).body).to.deep.equal({ success: true, status: 'connected' });
  });

  it('does not log out with forceNew an account whose device was refused for want of a passkey before', async () => {
    await notePasskeyDemand(space.store, owner.ownership, true);
    await owner.release();
    await linkDevice(space.store);
    // Nor one whose keys are kept while another client uses them.
    for (const want of ['linked', 'parked']) {
      await space.clients.commands.hset(deviceKeys(space.store.space, DEFAULT).desired, 'want', want);
      const { status, body } = await api.call('POST', '/connect?forceNew=true');
      expect(status).to.equal(409);
      expect(body).to.include({ error: 'The account asks for a passkey', reason: 'passkey_required' });
      expect((await desired())?.want).to.equal(want);
    }
  });

  it('links again with forceNew, although there is an account', async () => {
    await owner.observe({ status: 'connected', phone: ACCOUNT }, 'linked');
    const answer = api.call('POST', '/connect?forceNew=true&rawQrCode=true');
    await whenWanted('linking');
    await showCode(QR);
    expect((await answer).body.qrCode).to.equal(QR);
  });

  it('explains an attempt that ended before there was a code (409)', async () => {
    const answer = api.call('POST', '/connect');
    await whenWanted('linking');
    await owner.observe({ status: 'disconnected', reason: 'link_refused' }, 'unlinked');
    const { status, body } = await answer;
    expect(status).to.equal(409);
    expect(body).to.deep.equal({
      success: false,
      error: 'Linking ended before there was a code',
      details: [{ path: [], message: 'The network or the phone refused the link.' }],
    });
  });

  it('begins nothing while the network wants no login of the device (409), and says when it may be asked again', async () => {
    await owner.observe({ status: 'connecting', reason: 'rate_limited', notBeforeMs: Date.now() + 60_000 }, 'linked');
    const before = await desired();
    const { status, body, headers } = await api.call('POST', '/connect?forceNew=true');
    expect(status).to.equal(409);
    const message = 'The network has asked for a long pause; the device reconnects after it.';
    expect(body.details).to.deep.equal([{ path: [], message }]);
    expect(Number(headers.get('retry-after'))).to.be.within(50, 60);
    expect(await desired()).to.deep.equal(before);
  });

  it('says that another client uses the keys of a parked device (409)', async () => {
    const answer = api.call('POST', '/connect');
    await whenWanted('linking');
    await owner.observe({ status: 'disconnected', reason: 'replaced' }, 'parked');
    const { status, body } = await answer;
    expect(status).to.equal(409);
    const message = 'Another client uses the keys of this device. Stop it, then connect again: the keys are kept.';
    expect(body.details).to.deep.equal([{ path: [], message }]);
  });

  it('ends when the device is disconnected meanwhile (409)', async () => {
    const answer = api.call('POST', '/connect');
    await whenWanted('linking');
    await requestUnlink(space.store, DEFAULT, { attemptId: 'att_x' });
    expect((await answer).status).to.equal(409);
  });

  it('passes on that the network did not answer (504)', async () => {
    const answer = api.call('POST', '/connect');
    await whenWanted('linking');
    await owner.observe({ status: 'disconnected', reason: 'link_timeout' }, 'unlinked');
    const { status, body } = await answer;
    expect(status).to.equal(504);
    expect(body).to.deep.equal({ success: false, error: 'Messenger network did not answer' });
  });

  it('gives up when no code comes (504), and the device is disconnected again', async () => {
    const impatient = await startTestApi(space, { waits: { codeMs: 300 } });
    const { status, body } = await impatient.call('POST', '/connect');
    await impatient.close();
    expect(status).to.equal(504);
    expect(body).to.deep.equal({ success: false, error: 'Messenger network did not answer' });
    expect((await api.call('GET', '/status')).body).to.include({ status: 'disconnected', reason: 'link_timeout' });
  });

  it('answers 503 when no sender lives, or none has room', async () => {
    const expectNoSender = ({ status, body, headers }: Answer) => {
      expect(status).to.equal(503);
      expect(body).to.deep.equal({ success: false, error: 'No sender available' });
      expect(headers.get('retry-after')).to.match(/^\d+$/);
    };
    await sender.report({ held: 10, capacity: 10 });
    expectNoSender(await api.call('POST', '/connect'));
    await sender.leave();
    expectNoSender(await api.call('POST', '/connect'));
    expect((await desired())?.want).to.equal(undefined);
  });

  it('stops waiting when the caller leaves, and lets the attempt go on', async () => {
    const leave = new AbortController();
    const answer = api.call('POST', '/connect', { signal: leave.signal }).catch(() => 'left');
    await whenWanted('linking');
    leave.abort();
    expect(await answer).to.equal('left');
    await eventually(async () => /route="\/connect",status_code="499"/.test(await api.metrics()));
    expect((await desired())?.want).to.equal('linking');
  });

  it('lets waiting callers go when the process stops (503)', async () => {
    const answer = api.call('POST', '/connect');
    await whenWanted('linking');
    api.stop();
    const { status, headers } = await answer;
    expect(status).to.equal(503);
    expect(headers.get('retry-after')).to.match(/^\d+$/);
  });

  it('refuses parameters that are wrong (400), all at once', async () => {
    const details = async (query: string) => {
      const { status, body } = await api.call('POST', `/connect?${query}`);
      expect(status).to.equal(400);
      return body.details;
    };
    expect(await details('method=pairingCode')).to.deep.equal([{ path: ['phoneNumber'], message: 'is required' }]);
    expect(await details('method=sms&phoneNumber=12&forceNew=maybe&x=1')).to.deep.equal([
      { path: ['method'], message: 'must be one of [qrCode, pairingCode]' },
      {
        path: ['phoneNumber'],
        message:
          'must be a phone number of 7 to 15 digits that starts with its country code, without the 0 that is dialled inside the country',
      },
      { path: ['forceNew'], message: 'must be a boolean' },
      { path: ['x'], message: 'is not allowed' },
    ]);
    expect(await details('forceNew=true&forceNew=false')).to.deep.equal([
      { path: ['forceNew'], message: 'must be a boolean' },
    ]);
  });
});
