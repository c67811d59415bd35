import { type Simulator, type SimulatorOptions, startSimulator } from '@gateway/simulator/start-simulator';
import { readRestriction } from '@gateway/store/devices/incidents/restrictions';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { endTime } from '@gateway/testkit/sends/rewrite-head';
import { expect } from 'chai';

type Restrictions = ReturnType<Simulator['network']['accounts']['ensure']>['restrictions'];
type Row = { to: string; status: string; error: string | null; heldUntil?: string | null };

const HOUR_MS = 3_600_000;

describe('an account that the network restricts', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  /** How many messages the network refused, of each account. */
  const refused = new Map<string, number>();
  /** Called before the network looks at the next message of an account. */
  const onNextMessage = new Map<string, () => void>();

  before(async () => {
    const trace: SimulatorOptions['trace'] = (direction, client, { tag, attrs }) => {
      const account = client.split(':')[0]!;
      const isRefusal = direction === 'out' && tag === 'ack' && attrs.error !== undefined;
      if (isRefusal) refused.set(account, (refused.get(account) ?? 0) + 1);
      if (direction !== 'in' || tag !== 'message') return;
      onNextMessage.get(account)?.();
      onNextMessage.delete(account);
    };
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator({ trace })]);
    const env = { SESSION_TTL_MS: '2000', ACK_TIMEOUT_MS: '1000' };
    gateway = await Gateway.start({ space, simulator, senders: 2, env });
    for (const scenario of scenarios) scenario.start();
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  const scenarios: { start(): void }[] = [];
  /** Each has an account of its own, and all go on at the same time: they mostly wait. */
  function together<Result>(scenario: (account: TestAccount) => Promise<Result>): () => Promise<Result> {
    const series = 20 + scenarios.length;
    let ended: Promise<Result>;
    const start = () => {
      ended = openAccount(series).then(scenario);
      ended.catch(() => {});
    };
    scenarios.push({ start });
    return () => ended;
  }

  type TestAccount = Awaited<ReturnType<typeof openAccount>>;
  /** A linked account; it has a conversation with those whom it calls known once it has greeted them. */
  async function openAccount(series: number) {
    const device = `device-${series}`;
    const account = `4917000002${series}`;
    const address = { workspace: 'main', device };
    const numbers = makeNumbers(40, series);
    const [known, strangers] = [numbers.slice(0, 10), numbers.slice(10)];

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
    /** As a caller does whom an overloaded machine asks to come again. */
    const sendOtp = (phone: string) =>
      eventually(async () => {
        const answer = await gateway.call('POST', '/otp', { device, body: { phone, code: '482913' } });
        return answer.status !== 503 && answer;
      });
    const cancel = (messageId: string) => gateway.call('DELETE', `/messages/${messageId}`, { device });
    const progress = async (messageId: string) =>
      (await gateway.call('GET', `/messages/${messageId}?limit=1000`, { device })).body;
    const waitFor = (messageId: string, counts: Record<string, number>) =>
      gateway.waitForSend(messageId, counts, { device, query: '?limit=1000' });
    const waitForHeld = (messageId: string, count: number) =>
      eventually(
        async () => {
          const body = await progress(messageId);
          return heldOf(body).length === count && body;
        },
        { everyMs: 1_050, what: `${count} held` },
      );
    const restriction = async () => (await gateway.call('GET', '/status', { device })).body.restriction;
    const announced = () => eventually(() => readRestriction(space.store, address));
    const refusals = () => refused.get(account) ?? 0;
    async function shownTo(people: string[], text: string): Promise<number[]> {
      const messages = (await readDeliveries(simulator, account)).filter((message) => message.text === text);
      return people.map((to) =>
        messages.filter((message) => message.to === to).reduce((sum, { shown }) => sum + shown, 0),
      );
    }
    async function metricsOfOwner(): Promise<string> {
      const owner = (await gateway.findOwner(device))!;
      const { opsPort } = await owner.waitForLog(({ message }) => message === 'ready');
      return (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    }

    const greet = async () => waitFor(await send(known, 'hello'), { read: 10 });

    await gateway.link(account, device);
    return {
      ...{ device, account, address, known, strangers },
      ...{ restrict, restrictSilently, restriction, announced, refusals, metricsOfOwner },
      ...{ greet, send, sendOtp, cancel, waitFor, waitForHeld, shownTo },
    };
  }
  const heldOf = (body: { recipients: Row[] }) => body.recipients.filter((row) => row.heldUntil !== undefined);
  const once = (numbers: string[]) => numbers.map(() => 1);

  it('learns at the login what the network restricts, before a message is refused', async () => {
    const [account, device] = ['491700000299', 'device-99'];
    simulator.network.accounts.ensure(account).restrictions = { reachoutLockedUntilMs: Date.now() + HOUR_MS };
    await gateway.link(account, device);
    await eventually(() => readRestriction(space.store, { workspace: 'main', device }));
    const { restriction } = (await gateway.call('GET', '/status', { device })).body;
    expect(restriction.kind).to.equal('reach_out_time_lock');
    expect(refused.get(account)).to.equal(undefined);
  });

  it(
    'lets an OTP to a stranger wait and expire, and go as soon as they write',
    together(async (account) => {
      const { address, strangers, sendOtp, waitFor, waitForHeld } = account;
      await account.restrict({ reachoutLockedUntilMs: Date.now() + HOUR_MS });
      await account.announced();
      const list = await account.send(strangers.slice(0, 5), 'a list');
      const [silent, writer] = [strangers[5]!, strangers[6]!];
      const answers = [sendOtp(silent), sendOtp(writer)] as const;
      await waitForHeld(list, 5);
      const early = Promise.race(answers).then(({ status, body }) => {
        throw new Error(`a code was answered before anything had happened: ${status} ${JSON.stringify(body)}`);
      });
      early.catch(() => {});
      const accepted = eventually(async () => (await listOpenSends(space.store, address)).length === 3);
      await Promise.race([accepted, early]);
      await fetch(`${simulator.adminUrl}/admin/phones/${writer}/messages`, {
        method: 'POST',
        body: JSON.stringify({ to: account.account, text: 'my code please' }),
      });
      expect((await answers[1]).status, 'while its caller waits').to.equal(200);

      const { status, body } = await answers[0];
      expect(status).to.equal(202);
      const { messageId } = body.data;
      await waitForHeld(messageId, 1);
      await endTime(space.store, address, messageId);
      const done = await waitFor(messageId, { expired: 1 });
      expect(done.recipients[0]).to.include({ status: 'expired', error: 'new_contacts_held' });
      const reached = new Set((await readDeliveries(simulator, account.account)).map(({ to }) => to));
      expect([...strangers].filter((to) => reached.has(to))).to.deep.equal([writer]);
      expect(account.refusals()).to.equal(0);
    }),
  );

  it(
    'sends to a person who writes without a number as soon as their number is known',
    together(async (account) => {
      const [writer, silent] = account.strangers as [string, string];
      const person = `lid:1550000000${writer.slice(-5)}`;
      const phoneOf = (path: string, method: string, body: object) =>
        fetch(`${simulator.adminUrl}/admin/phones/${person}${path}`, { method, body: JSON.stringify(body) });
      await account.restrict({ reachoutLockedUntilMs: Date.now() + HOUR_MS });
      await account.announced();
      const list = await account.send([writer, silent], 'hidden');
      await account.waitForHeld(list, 2);
      expect((await phoneOf('/messages', 'POST', { to: account.account, text: 'hello' })).status).to.equal(201);
      expect((await phoneOf('', 'PUT', { number: writer })).status).to.equal(200);
      const body = await account.waitFor(list, { read: 1, queued: 1 });
      expect(heldOf(body).map(({ to }) => to)).to.deep.equal([silent]);
      expect(account.refusals()).to.equal(0);
    }),
  );

  it(
    'goes on with those it knows, holds the others until its end, and tells both',
    together(async (account) => {
      const { known, strangers, restriction, refusals, waitFor, shownTo } = account;
      await account.greet();
      const untilMs = Math.ceil(Date.now() / 1000) * 1000 + HOUR_MS;
      account.restrictSilently({ reachoutLockedUntilMs: untilMs });
      const mixed = [...strangers.slice(0, 5), ...known, ...strangers.slice(5)];
      const list = await account.send(mixed, 'mixed');
      await waitFor(list, { queued: 30 });
      const body = await account.waitForHeld(list, 30);
      expect(body.counts).to.include({ queued: 30, failed: 0 });
      expect(heldOf(body).map(({ to }) => to)).to.have.members(strangers);
      for (const row of heldOf(body))
        expect(row).to.include({ heldUntil: new Date(untilMs).toISOString(), error: 'new_contacts_held' });
      const tried = refusals();
      expect(tried).to.be.within(1, 30);
      expect(await shownTo(known, 'mixed')).to.deep.equal(once(known));
      expect(await restriction()).to.include({ kind: 'reach_out_time_lock', until: new Date(untilMs).toISOString() });
      expect(await account.metricsOfOwner()).to.match(
        /gateway_restricted_devices\{[^}]*reach_out_time_lock[^}]*\} [1-9]/,
      );

      expect((await account.sendOtp(known[0]!)).status, 'to a known contact').to.equal(200);
      await waitFor(await account.send(known, 'beside'), { read: 10 });
      expect(refusals(), 'there was no further attempt').to.equal(tried);

      const endMs = Math.ceil(Date.now() / 1000 + 2) * 1000;
      await account.restrict({ reachoutLockedUntilMs: endMs });
      const done = await waitFor(list, { read: 40 });
      expect(Date.now()).to.be.greaterThan(endMs);
      expect(heldOf(done)).to.deep.equal([]);
      expect(await shownTo(mixed, 'mixed')).to.deep.equal(once(mixed));
      expect(refusals(), 'not before its end').to.equal(tried);
      expect(await restriction()).to.equal(undefined);
    }),
  );

  it(
    'holds from the moment the network announces it, and lets go when it is lifted',
    together(async (account) => {
      const { known, strangers } = account;
      await account.greet();
      await account.restrict({ reachoutLockedUntilMs: Date.now() + HOUR_MS });
      await account.announced();
      const list = await account.send([known[0]!, ...strangers], 'announced');
      await account.waitForHeld(list, 30);
      await account.restrict({});
      await account.waitFor(list, { read: 31 });
      expect(account.refusals()).to.equal(0);
      expect(await account.restriction()).to.equal(undefined);
    }),
  );

  it(
    'starts as many conversations as its quota allows, and the others in the next cycle',
    together(async (account) => {
      const cycleEndMs = Math.ceil(Date.now() / 1000) * 1000 + HOUR_MS;
      account.restrictSilently({ newChatCap: { total: 4, used: 0, endsAtMs: cycleEndMs } });
      const list = await account.send(account.strangers.slice(0, 8), 'capped');
      await account.waitForHeld(list, 4);
      expect(await account.restriction()).to.include({
        kind: 'new_chat_cap',
        until: new Date(cycleEndMs).toISOString(),
      });
      const endsAtMs = Math.ceil(Date.now() / 1000 + 2) * 1000;
      await account.restrict({ newChatCap: { total: 4, used: 4, endsAtMs } });
      await account.waitFor(list, { read: 8 });
      expect(Date.now()).to.be.greaterThan(endsAtMs);
    }),
  );

  it(
    'says that it does not know the end when the network does not say',
    together(async (account) => {
      account.restrictSilently({ newChatCap: { total: 0, used: 0 } });
      const list = await account.send([account.strangers[0]!], 'for how long');
      const body = await account.waitForHeld(list, 1);
      expect(heldOf(body)[0]!.heldUntil).to.equal(null);
      expect(await account.restriction()).to.include({ kind: 'new_chat_cap', until: null });
      await account.restrict({});
      await account.waitFor(list, { read: 1 });
    }),
  );

  it(
    'cancels those who wait at once, refused ones too',
    together(async (account) => {
      const { strangers, refusals } = account;
      account.restrictSilently({ reachoutLockedUntilMs: Date.now() + HOUR_MS });
      const list = await account.send(strangers.slice(0, 3), 'never mind');
      await account.waitForHeld(list, 3);
      const { body } = await account.cancel(list);
      expect(body.counts).to.include({ queued: 0, cancelled: 3 });
      const before = refusals();
      await account.restrict({});
      await account.waitFor(await account.send([strangers[4]!], 'after it'), { read: 1 });
      expect(await account.shownTo(strangers.slice(0, 3), 'never mind')).to.deep.equal([0, 0, 0]);
      expect(refusals()).to.equal(before);
    }),
  );

  it(
    'fails no one for a lock that is over before the network answers about it, nor tries anybody more often than twice',
    together(async (account) => {
      const { strangers, restrictSilently, refusals } = account;
      await account.greet();
      const match = { account: account.account, xmlns: 'w:mex' };
      const slow = simulator.network.faults.add({ on: 'iq', match, do: { delayMs: 400 } });
      onNextMessage.set(account.account, () => restrictSilently({ reachoutLockedUntilMs: Date.now() + 250 }));
      const list = await account.send(strangers, 'a short lock');
      await account.waitFor(list, { read: 30 });
      expect(await account.shownTo(strangers, 'a short lock')).to.deep.equal(once(strangers));
      expect(refusals()).to.be.within(1, 30);
      simulator.network.faults.remove(slow.id);
    }),
  );

  const untilMs = Math.ceil(Date.now() / 1000) * 1000 + HOUR_MS;
  const startHeld = together(async (account) => {
    await account.greet();
    account.restrictSilently({ reachoutLockedUntilMs: untilMs });
    const list = await account.send([...account.known, ...account.strangers], 'over a kill');
    await account.waitForHeld(list, 30);
    await account.waitFor(list, { read: 10, queued: 30 });
    return { ...account, list };
  });
  // Behind the others, and not beside them: a kill is felt by all the devices of a sender.
  it('is remembered by the next owner: there is no new attempt after a kill, and it ends in time', async () => {
    const survivor = await startHeld();
    const { device, list, known, strangers, refusals, waitFor } = survivor;
    const before = refusals();
    await (await gateway.findOwner(device))!.kill();
    await gateway.waitForStatus('connected', device);
    const otp = await survivor.sendOtp(known[1]!);
    expect(otp.status, JSON.stringify(otp.body)).to.equal(200);
    expect(await survivor.restriction()).to.include({ until: new Date(untilMs).toISOString() });
    const endMs = Math.ceil(Date.now() / 1000 + 2) * 1000;
    await survivor.restrict({ reachoutLockedUntilMs: endMs });
    await waitFor(list, { read: 40 });
    expect(Date.now()).to.be.greaterThan(endMs);
    expect(await survivor.shownTo([...known, ...strangers], 'over a kill')).to.deep.equal(
      once([...known, ...strangers]),
    );
    expect(refusals()).to.equal(before);
  });
});
