import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const SESSION_TTL_MS = 1_500;

/** The tests build on each other: processes go and come. */
describe('a device whose owner is gone', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  const [first, second, third] = makeNumbers(3, 11) as [string, string, string];

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    const env = { SESSION_TTL_MS: String(SESSION_TTL_MS) };
    gateway = await Gateway.start({ space, simulator, senders: 0, connections: 2, env });
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  const devicesOf = (number: string) => simulator.network.accounts.find(number)?.devices.size;
  /** Phones that are off at first. */
  const [friend, deaf] = makeNumbers(2, 12) as [string, string];
  let messageId: string;
  let written: string;
  const setOnline = (number: string, online: boolean) => admin('PUT', `/phones/${number}`, { online });
  async function admin(method: string, path: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${simulator.adminUrl}/admin${path}`, { method, body: JSON.stringify(body) });
    expect(response.ok, await response.clone().text()).to.equal(true);
    return (await response.json()) as Record<string, unknown>;
  }
  async function sendTo(to: string, message: object): Promise<string> {
    const { status, body } = await gateway.call('POST', '/send', { device: 'second', body: { to, ...message } });
    expect(status, JSON.stringify(body)).to.equal(202);
    return body.messageId;
  }
  const statusOf = async (id: string) =>
    (await gateway.call('GET', `/messages/${id}`, { device: 'second' })).body.status;
  const connect = (device: string) => gateway.call('POST', '/connect?rawQrCode=true', { device });
  async function credsOf(device: string): Promise<boolean> {
    return (await space.store.redis.exists(deviceKeys(space.store.space, { workspace: 'main', device }).creds)) === 1;
  }

  it('cannot be linked while no sender lives', async () => {
    const { status, body, headers } = await connect('first');
    expect(status).to.equal(503);
    expect(body).to.include({ success: false, error: 'No sender available' });
    expect(headers.get('retry-after')).to.match(/^\d+$/);
  });

  it('is linked by another connection process when the first dies in the middle, with a code of its own', async () => {
    await gateway.addSender();
    // A sender that has just begun may not be counted yet, on a busy machine.
    const { body } = await eventually(
      async () => {
        const answer = await connect('first');
        return answer.status === 200 && answer;
      },
      { everyMs: 1_000, what: 'a code' },
    );
    // On a busy machine its session may end before it is killed: then the other process owns the device soon.
    const owner = await eventually(() => gateway.findOwner('first'), { what: 'an owner' });
    expect(gateway.connections).to.include(owner);
    await owner.kill();
    const code = await eventually(
      async () => {
        const again = await connect('first');
        return again.body.qrCode !== undefined && again.body.qrCode !== body.qrCode && again.body.qrCode;
      },
      { everyMs: 1_000, what: 'a code of the other process' },
    );
    await gateway.scan(first, code, 'first');
    await gateway.waitForStatus('connected', 'first');
  });

  it('is connected for no longer than the ownership, then connecting', async () => {
    await gateway.link(second, 'second');
    await Promise.all([setOnline(friend, false), setOnline(deaf, false)]);
    const toDeaf = await sendTo(deaf, { text: 'sent to the deaf' });
    messageId = await sendTo(friend, { text: 'sent before' });
    await eventually(async () => (await statusOf(messageId)) === 'sent', { everyMs: 200 });
    await eventually(async () => (await statusOf(toDeaf)) === 'sent', { everyMs: 200 });
    const [sender] = gateway.senders;
    const killedAtMs = performance.now();
    await sender!.kill();
    expect((await gateway.waitForStatus('connecting', 'second', 5_000)).reason).to.equal('owner_lost');
    expect(performance.now() - killedAtMs).to.be.lessThan(SESSION_TTL_MS + 500);
  });

  it('disconnects all the same: the network is told, the keys are wiped', async () => {
    const { body } = await gateway.call('POST', '/disconnect', { device: 'first' });
    expect(body.message).to.equal('Disconnected and logged out.');
    expect(devicesOf(first)).to.equal(0);
    expect(await credsOf('first')).to.equal(false);
  });

  it('is left alone while no sender comes: the network keeps what phones say, for the one that does', async () => {
    const { retryReceipts } = simulator.network.counters;
    await setOnline(friend, true);
    written = String((await admin('POST', `/phones/${friend}/messages`, { to: second, text: 'did you call?' })).id);
    // It has lost its keys: it cannot read what waits for it, and asks for it again.
    await admin('POST', `/phones/${deaf}/reinstall`, {});
    await setOnline(deaf, true);
    await eventually(() => simulator.network.counters.retryReceipts > retryReceipts, { what: 'it asks again' });
    const [linked] = simulator.network.accounts.find(second)!.devices.values();
    const { logins } = linked!;
    const sender = await gateway.addSender();
    await eventually(async () => (await gateway.findOwner('second')) === sender, { what: 'the sender owns it' });
    await gateway.waitForStatus('connected', 'second');
    await eventually(() => linked!.logins > logins, { what: 'its login' });
    expect(linked!.logins, 'by that sender alone').to.equal(logins + 1);
    expect(devicesOf(second)).to.equal(1);
    const { received } = deviceKeys(space.store.space, { workspace: 'main', device: 'second' });
    await eventually(async () => (await space.store.redis.hexists(received, written)) === 1, { what: 'it is kept' });
  });

  it('shows a phone the text that it asked for while no sender lived', async () => {
    const texts = async () =>
      (await readDeliveries(simulator, second)).filter(({ to, shown }) => to === deaf && shown > 0);
    const shown = await eventually(async () => (await texts())[0], { what: 'the phone shows it' });
    expect(shown.text).to.equal('sent to the deaf');
  });

  it('has lost nothing that its phones said meanwhile', async () => {
    await eventually(async () => (await statusOf(messageId)) === 'read', { everyMs: 200 });
    await sendTo(friend, { text: 'I did', existingMessageId: written });
    const answer = await eventually(async () =>
      (await readDeliveries(simulator, second)).find(({ text, shown }) => text === 'I did' && shown > 0),
    );
    expect(answer.details).to.include({ quoted: written, quotedText: 'did you call?' });
  });

  it('disconnects right after the SIGKILL too, as soon as the ownership is over', async () => {
    await gateway.link(third, 'third');
    await gateway.senders.at(-1)!.kill();
    const { body } = await gateway.call('POST', '/disconnect', { device: 'third' });
    expect(body.message).to.equal('Disconnected and logged out.');
    expect(devicesOf(third)).to.equal(0);
    expect(await credsOf('third')).to.equal(false);
  });

  it('disconnects while the network is down: the keys are wiped, and the phone may still list it', async () => {
    await gateway.addSender();
    await gateway.waitForStatus('connected', 'second');
    await simulator.close();
    await eventually(async () => {
      const { observed, isOwned } = await readDeviceState(space.store, { workspace: 'main', device: 'second' });
      return !isOwned || observed?.status !== 'connected';
    });
    const { body } = await gateway.call('POST', '/disconnect', { device: 'second' });
    expect(body.success).to.equal(true);
    expect(body.message).to.match(/the phone may still list this device/);
    expect(await credsOf('second')).to.equal(false);
    expect((await gateway.call('GET', '/status', { device: 'second' })).body.status).to.equal('disconnected');
  });
});
