import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

describe('the life of a device, end to end', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  let device: string;
  let number: string;
  const numbers = makeNumbers(50, 9);
  const accountOf = (of: string) => simulator.network.accounts.find(of);
  const keysOf = (of: string) => deviceKeys(space.store.space, { workspace: 'main', device: of });

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    gateway = await Gateway.start({ space, simulator });
  });
  beforeEach(() => {
    number = numbers.pop()!;
    device = `device-${numbers.length}`;
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  const connect = (query = '', method = 'POST') => gateway.call(method, `/connect?rawQrCode=true${query}`, { device });
  const status = async () => (await gateway.call('GET', '/status', { device })).body;
  const disconnect = async () => (await gateway.call('POST', '/disconnect', { device })).body;

  it('links by QR code: connecting, then connected as the account', async () => {
    const { status: http, body } = await connect();
    expect(http).to.equal(200);
    expect(body).to.include({ success: true, status: 'connecting' });
    expect((await status()).status).to.equal('connecting');
    await gateway.scan(number, body.qrCode, device);
    const [linked] = accountOf(number)!.devices.values();
    await eventually(() => linked!.logins === 1, { timeoutMs: 2_000, everyMs: 20, what: 'the login of a sender' });
    expect(gateway.senders).to.include(await gateway.findOwner(device));
    const connected = await gateway.waitForStatus('connected', device);
    expect(connected).to.include({ success: true, phone: number });
    expect(connected.name).to.be.a('string').and.not.equal('');
  });

  it('links by pairing code', async () => {
    const { body } = await connect(`&method=pairingCode&phoneNumber=${number}`);
    expect(body.pairingCode).to.match(/^[A-Z0-9]{8}$/);
    await simulator.pairing.enterCode(number, body.pairingCode);
    expect((await gateway.waitForStatus('connected', device)).phone).to.equal(number);
  });

  it('answers every further call, GET or POST, with the code of the one attempt, over one socket', async () => {
    const first = await connect();
    const sockets = simulator.network.counters.connections;
    const again = await Promise.all([connect('', 'GET'), connect('', 'POST'), connect('', 'GET')]);
    expect(again.map(({ body }) => body.qrCode)).to.deep.equal(Array(3).fill(first.body.qrCode));
    expect(simulator.network.counters.connections).to.equal(sockets);
    await disconnect();
  });

  it('has no code for a device that is connected', async () => {
    await gateway.link(number, device);
    const { body } = await connect();
    expect(body).to.deep.equal({ success: true, status: 'connected' });
  });

  it('says link_refused when the network does not know the number of a pairing code', async () => {
    const response = await fetch(`${simulator.adminUrl}/admin/phones/${number}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ exists: false }),
    });
    expect(response.ok).to.equal(true);
    await connect(`&method=pairingCode&phoneNumber=${number}`);
    expect((await gateway.waitForStatus('disconnected', device)).reason).to.equal('link_refused');
  });

  it('disconnects: the phone lists it no more, no key is left, and a second call says that there is nothing', async () => {
    await gateway.link(number, device);
    expect(accountOf(number)?.devices.size).to.equal(1);
    expect((await disconnect()).message).to.equal('Disconnected and logged out.');
    expect(accountOf(number)?.devices.size).to.equal(0);
    expect(await keysLeft()).to.deep.equal([]);
    expect(await status()).to.include({ status: 'disconnected', reason: 'disconnected' });
    expect((await disconnect()).message).to.equal('No account was linked to this device.');
  });

  it('disconnects in the middle of linking, and the code shown last is dead', async () => {
    const { body } = await connect();
    expect((await disconnect()).success).to.equal(true);
    expect(await status()).to.include({ status: 'disconnected', reason: 'disconnected' });
    const scan = await simulator.pairing.scanQr(body.qrCode, number).catch((error: unknown) => error);
    expect(scan).to.be.instanceOf(Error);
    expect(await keysLeft()).to.deep.equal([]);
  });

  it('connects again by itself when the network asks for a restart (515)', async () => {
    await gateway.link(number, device);
    const [linked] = accountOf(number)!.devices.values();
    const { logins } = linked!;
    linked!.connection!.endStream(515);
    await eventually(() => linked!.logins === logins + 1, { timeoutMs: 3_000, what: 'another login' });
    await gateway.waitForStatus('connected', device);
  });

  it('logs the old session out before it links again with forceNew', async () => {
    await gateway.link(number, device);
    const [old] = accountOf(number)!.devices.keys();
    const { body } = await connect('&forceNew=true');
    expect(accountOf(number)!.devices.size, 'logged out when there is a code').to.equal(0);
    await gateway.scan(number, body.qrCode, device);
    await gateway.waitForStatus('connected', device);
    expect([...accountOf(number)!.devices.keys()])
      .to.have.length(1)
      .and.not.include(old);
  });

  it('cancels what was queued when another account links', async () => {
    const messageId = await linkAndQueue();
    const { body } = await connect('&forceNew=true');
    await gateway.scan(numbers.pop()!, body.qrCode, device);
    await gateway.waitForStatus('connected', device);
    const counts = await countsOf(messageId);
    expect(counts.queued).to.equal(0);
    expect(counts.cancelled).to.equal(2);
  });

  it('says logged_out when the phone removes it, sets its keys aside, and sends what was queued when the same account links again', async () => {
    const messageId = await linkAndQueue();
    const [id] = accountOf(number)!.devices.keys();
    await fetch(`${simulator.adminUrl}/admin/accounts/${number}/devices/${id}`, { method: 'DELETE' });
    expect((await gateway.waitForStatus('disconnected', device)).reason).to.equal('logged_out');
    expect(await keysLeft()).to.deep.equal(['creds:quarantined']);
    expect((await countsOf(messageId)).queued).to.equal(2);
    await space.store.redis.hdel(keysOf(device).device, 'pace');
    await gateway.link(number, device);
    await eventually(async () => (await countsOf(messageId)).read === 3, { everyMs: 1_000, what: 'the rest is read' });
    const shown = await readDeliveries(simulator, number);
    expect(shown.map((message) => message.shown)).to.deep.equal([1, 1, 1]);
  });

  /** Links the device at a crawl, sends to three, and waits until one has read it: a receipt that comes later would be lost with the device. */
  async function linkAndQueue(): Promise<string> {
    // Makes the device, so that it can be given a pace of its own.
    await connect();
    const crawl = { messagesPerMinute: 1, burst: 1, jitter: 0 };
    await space.store.redis.hset(keysOf(device).device, 'pace', JSON.stringify(crawl));
    await gateway.link(number, device);
    const to = makeNumbers(3, 20 + numbers.length);
    const { status: http, body } = await gateway.call('POST', '/send', { device, body: { to, text: 'later' } });
    expect(http, JSON.stringify(body)).to.equal(202);
    await eventually(async () => (await countsOf(body.messageId)).read === 1, {
      everyMs: 500,
      what: 'one has read it',
    });
    expect(await countsOf(body.messageId)).to.include({ queued: 2 });
    return body.messageId;
  }

  const countsOf = async (messageId: string) =>
    (await gateway.call('GET', `/messages/${messageId}`, { device })).body.counts;

  /** Names of the keys of an account that lie in Redis. */
  async function keysLeft(): Promise<string[]> {
    const { base } = keysOf(device);
    const all = await space.store.redis.keys(`${base}:*`);
    return all.map((key) => key.slice(base.length + 1)).filter((key) => /^(creds|keys:|key-buckets|contact)/.test(key));
  }
});
