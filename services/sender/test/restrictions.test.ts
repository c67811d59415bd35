import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

type Restrictions = ReturnType<Simulator['network']['accounts']['ensure']>['restrictions'];

describe('an account that the network restricts', function () {
  this.timeout(60_000);
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  let series = 20;
  let device: string;
  let account: string;
  let known: string[];
  let strangers: string[];

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    const env = { LEASE_TTL_MS: '2000', ACK_TIMEOUT_MS: '1000' };
    gateway = await Gateway.start({ space, simulator, senders: 2, env });
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });
  beforeEach(async () => {
    series++;
    device = `device-${series}`;
    account = `4917000002${series}`;
    await gateway.link(account, device);
    const numbers = makeNumbers(40, series);
    [known, strangers] = [numbers.slice(0, 10), numbers.slice(10)];
    await waitFor(await send(known, 'hello'), { read: 10 });
  });

  /** The network keeps it to itself: the device learns of it from its first refusal. */
  const restrictSilently = (restrictions: Restrictions) => {
    simulator.network.accounts.ensure(account).restrictions = restrictions;
  };
  const restrict = (restrictions: Restrictions) =>
    fetch(`${simulator.adminUrl}/admin/accounts/${account}`, {
      method: 'PUT',
      body: JSON.stringify({ restrictions }),
    });
  const send = async (to: string[], text: string): Promise<string> => {
    const { status, body } = await gateway.call('POST', '/send', { device, body: { to, text } });
    expect(status, JSON.stringify(body)).to.equal(202);
    return body.messageId;
  };
  const sendOtp = (phone: string) => gateway.call('POST', '/otp', { device, body: { phone, code: '482913' } });
  const progress = async (messageId: string) =>
    (await gateway.call('GET', `/messages/${messageId}?limit=1000`, { device })).body;
  const waitFor = (messageId: string, counts: Record<string, number>, timeoutMs = 30_000) =>
    eventually(
      async () => {
        const body = await progress(messageId);
        return Object.entries(counts).every(([status, count]) => body.counts?.[status] === count) && body;
      },
      { timeoutMs, everyMs: 1_050, what: JSON.stringify(counts) },
    );
  type Row = { to: string; status: string; error: string | null; heldUntil?: string | null };
  const heldOf = (body: { recipients: Row[] }) => body.recipients.filter((row) => row.heldUntil !== undefined);
  const waitForHeld = (messageId: string, count: number) =>
    eventually(
      async () => {
        const body = await progress(messageId);
        return heldOf(body).length === count && body;
      },
      { timeoutMs: 20_000, everyMs: 1_050, what: `${count} held` },
    );
  const restriction = async () => (await gateway.call('GET', '/status', { device })).body.restriction;
  const refusals = () => simulator.network.counters.refusedStanzas;
  async function shownTo(numbers: string[], text: string): Promise<number[]> {
    const messages = (await readDeliveries(simulator, account)).filter((message) => message.text === text);
    return numbers.map((to) =>
      messages.filter((message) => message.to === to).reduce((sum, { shown }) => sum + shown, 0),
    );
  }
  const once = (numbers: string[]) => numbers.map(() => 1);
  async function metricsOfOwner(): Promise<string> {
    const owner = (await gateway.findOwner(device))!;
    const { opsPort } = await owner.waitForLog(({ message }) => message === 'ready');
    return (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  }

  it('goes on with those it knows, holds the others until the network says that it is over, and tells both', async () => {
    const untilMs = Math.ceil(Date.now() / 1000 + 10) * 1000;
    restrictSilently({ reachoutLockedUntilMs: untilMs });
    const before = refusals();
    const mixed = [...strangers.slice(0, 5), ...known, ...strangers.slice(5)];
    const list = await send(mixed, 'mixed');
    const body = await waitForHeld(list, 30);
    expect(body.counts).to.include({ queued: 30, failed: 0 });
    expect(heldOf(body).map(({ to }) => to)).to.have.members(strangers);
    for (const row of heldOf(body)) expect(row).to.include({ heldUntil: new Date(untilMs).toISOString(), error: null });
    const tried = refusals() - before;
    expect(tried).to.be.within(1, 30);
    expect(await shownTo(known, 'mixed')).to.deep.equal(once(known));
    expect(await restriction()).to.include({ kind: 'reach_out_time_lock', until: new Date(untilMs).toISOString() });
    expect(await metricsOfOwner()).to.match(/gateway_restricted_devices\{[^}]*reach_out_time_lock[^}]*\} 1/);

    expect((await sendOtp(known[0]!)).status, 'to a known contact').to.equal(200);
    const other = await send(known, 'beside');
    await waitFor(other, { read: 10 });
    expect(refusals() - before, 'nobody was tried again').to.equal(tried);

    const done = await waitFor(list, { read: 40 });
    expect(Date.now()).to.be.greaterThan(untilMs);
    expect(heldOf(done)).to.deep.equal([]);
    expect(await shownTo(mixed, 'mixed')).to.deep.equal(once(mixed));
    expect(refusals() - before, 'not before its end').to.equal(tried);
    expect(await restriction()).to.equal(undefined);
  });

  it('is remembered by the next owner: nobody is tried again after a kill, and it ends in time', async () => {
    const untilMs = Math.ceil(Date.now() / 1000 + 12) * 1000;
    restrictSilently({ reachoutLockedUntilMs: untilMs });
    const list = await send([...known, ...strangers], 'over a kill');
    await waitForHeld(list, 30);
    await waitFor(list, { read: 10, queued: 30 });
    const before = refusals();
    await (await gateway.findOwner(device))!.kill();
    await gateway.addSender();
    await gateway.waitForStatus('connected', device);
    const otp = await sendOtp(known[1]!);
    expect(otp.status, JSON.stringify(otp.body)).to.equal(200);
    expect(await restriction()).to.include({ until: new Date(untilMs).toISOString() });
    await waitFor(list, { read: 40 });
    expect(await shownTo([...known, ...strangers], 'over a kill')).to.deep.equal(once([...known, ...strangers]));
    expect(refusals()).to.equal(before);
  });

  it('holds from the moment the network announces it, without a single refusal, and lets go when it is lifted', async () => {
    const before = refusals();
    await restrict({ reachoutLockedUntilMs: Date.now() + 3_600_000 });
    await eventually(restriction, { everyMs: 3_100 });
    const list = await send([known[0]!, ...strangers], 'announced');
    await waitForHeld(list, 30);
    await restrict({});
    await waitFor(list, { read: 31 });
    expect(refusals()).to.equal(before);
    expect(await restriction()).to.equal(undefined);
  });

  it('starts as many conversations as its quota allows, and the others in the next cycle', async () => {
    const endsAtMs = Math.ceil(Date.now() / 1000 + 8) * 1000;
    restrictSilently({ newChatCap: { total: 4, used: 0, endsAtMs } });
    const list = await send(strangers.slice(0, 8), 'capped');
    await waitForHeld(list, 4);
    expect(await restriction()).to.include({ kind: 'new_chat_cap', until: new Date(endsAtMs).toISOString() });
    restrictSilently({});
    await waitFor(list, { read: 8 });
    expect(Date.now()).to.be.greaterThan(endsAtMs);
  });

  it('says that it does not know the end when the network does not say', async () => {
    restrictSilently({ newChatCap: { total: 0, used: 0 } });
    const list = await send([strangers[0]!], 'for how long');
    const body = await waitForHeld(list, 1);
    expect(heldOf(body)[0]!.heldUntil).to.equal(null);
    expect(await restriction()).to.include({ kind: 'new_chat_cap', until: null });
    await restrict({});
    await waitFor(list, { read: 1 });
  });

  it('lets an OTP to a stranger wait for its five minutes and expire, and one to somebody who wrote first pass', async () => {
    await restrict({ reachoutLockedUntilMs: Date.now() + 3_600_000 });
    await eventually(restriction, { everyMs: 3_100 });
    const { status, body } = await sendOtp(strangers[0]!);
    expect(status).to.equal(202);
    const { messageId } = body.data;
    await waitForHeld(messageId, 1);
    const address = { workspace: 'main', device };
    const { record } = sendKeys(space.store.space, address, parseMessageId(messageId)!.tag);
    await space.clients.commands.hset(record, 'expiresAtMs', Date.now());
    await space.clients.commands.zadd(deviceKeys(space.store.space, address).openSends, Date.now(), messageId);
    const done = await waitFor(messageId, { expired: 1 });
    expect(done.recipients[0]).to.include({ status: 'expired', error: 'new_contacts_held' });

    await fetch(`${simulator.adminUrl}/admin/phones/${strangers[1]}/messages`, {
      method: 'POST',
      body: JSON.stringify({ to: account, text: 'my code please' }),
    });
    await eventually(async () => (await sendOtp(strangers[1]!)).status === 200, { timeoutMs: 30_000 });
    expect(await shownTo([strangers[0]!], 'x')).to.deep.equal([0]);
  });

  it('cancels those who wait at once, refused ones too', async () => {
    restrictSilently({ reachoutLockedUntilMs: Date.now() + 3_600_000 });
    const list = await send(strangers.slice(0, 3), 'never mind');
    await waitForHeld(list, 3);
    const { body } = await gateway.call('DELETE', `/messages/${list}`, { device });
    expect(body.counts).to.include({ queued: 0, cancelled: 3 });
    const before = refusals();
    await restrict({});
    await waitFor(await send([strangers[4]!], 'after it'), { read: 1 });
    expect(await shownTo(strangers.slice(0, 3), 'never mind')).to.deep.equal([0, 0, 0]);
    expect(refusals()).to.equal(before);
  });
});
