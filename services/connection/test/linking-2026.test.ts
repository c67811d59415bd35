import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { readDevice } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

describe('linking on the network of 2026, end to end', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  const numbers = makeNumbers(10, 26);

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator({ profile: '2026' })]);
    gateway = await Gateway.start({ space, simulator, inOneProcess: true });
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  const connect = (device: string, query = '') => gateway.call('POST', `/connect?rawQrCode=true${query}`, { device });
  const status = async (device: string) => (await gateway.call('GET', '/status', { device })).body;
  const scan = (code: string, number: string) =>
    simulator.pairing.scanQr(code, number).then(
      () => 'linked',
      (refusal: Error) => refusal.message,
    );

  it('says scan_again with the new code at once, in /connect and /status, and links by it', async () => {
    const number = numbers.pop()!;
    const { body: first } = await connect('twice');
    expect(first).to.not.have.property('reason');
    expect(await scan(first.qrCode, number)).to.equal('scan again');
    const second = await eventually(async () => {
      const { body } = await connect('twice');
      return body.reason === 'scan_again' && body;
    });
    expect(second).to.include({ success: true, status: 'connecting' });
    expect(second.qrCode).to.not.equal(first.qrCode);
    expect(await status('twice')).to.include({ status: 'connecting', reason: 'scan_again' });
    expect(await scan(second.qrCode, number)).to.equal('linked');
    expect((await gateway.waitForStatus('connected', 'twice')).phone).to.equal(number);
  });

  it('answers a call for the next code with the news that the account asks for its passkey, and starts again on demand', async () => {
    const number = numbers.pop()!;
    const response = await fetch(`${simulator.adminUrl}/admin/accounts/${number}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ passkey: true }),
    });
    expect(response.ok).to.equal(true);
    const { body } = await connect('passkey');
    expect(await scan(body.qrCode, number)).to.equal('passkey required');
    expect((await gateway.waitForStatus('disconnected', 'passkey')).reason).to.equal('passkey_required');
    const address = { workspace: 'main', device: 'passkey' };
    expect((await readDevice(space.store, address))?.asksForPasskey, 'for a link that it may get by import').to.equal(
      true,
    );
    expect((await readDeviceState(space.store, address)).hasKeys, 'half-made ones').to.equal(false);
    const refused = await connect('passkey');
    expect(refused.status).to.equal(409);
    expect(refused.body).to.include({ error: 'The account asks for a passkey', reason: 'passkey_required' });
    expect(refused.body.details[0].message).to.include('passkey');
    expect((await connect('passkey', '&forceNew=true')).body).to.include({ status: 'connecting' });
  });

  it('explains why the network gives out no pairing code', async () => {
    simulator.network.faults.add({ on: 'pairing', do: { error: 452 }, count: 1 });
    const refused = await connect('code', `&method=pairingCode&phoneNumber=${numbers.pop()}`);
    expect(refused.status).to.equal(409);
    expect(refused.body.details).to.deep.equal([
      { path: [], message: 'The network links this account by QR code only.' },
    ]);
    expect(await status('code')).to.include({ status: 'disconnected', reason: 'link_qr_only' });
  });

  it('writes no code and no secret into the logs', () => {
    const text = JSON.stringify(gateway.logs());
    expect(text).to.include('the network wants another scan');
    expect(text).to.not.match(/linked_devices#|2@[\w-]{20}/);
  });
});
