import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { noteReplaced } from '@gateway/store/devices/incidents/count-replaced';
import { readStarts } from '@gateway/store/fleet/count-starts';
import { acquireLease, releaseLease } from '@gateway/store/fleet/leases';
import { beatHeart } from '@gateway/store/fleet/members';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { type ConnectionProcess, startController, TestDevice } from './support/test-controller.js';

describe('the connection controller', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let device: TestDevice;
  let running: ConnectionProcess[];
  const numbers = makeNumbers(100, 7);

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
  });
  beforeEach(() => {
    running = [];
    device = new TestDevice(space, simulator, `device-${numbers.length}`, numbers.pop()!);
  });
  afterEach(async () => {
    await Promise.all(running.map((process) => process.stop()));
    simulator.network.faults.clear();
    await space.clients.commands.srem(`${space.prefix}:{main}:devices`, device.address.device);
  });
  after(async () => {
    await simulator.close();
    await space.close();
  });

  async function start(options: Parameters<typeof startController>[2] = {}): Promise<ConnectionProcess> {
    const started = await startController(space, simulator, options);
    running.push(started);
    return started;
  }

  it('looks again after it has taken the lease: what it read before may be done', async () => {
    await (await linked()).stop();
    await device.askToLink({ forceNew: true });
    let others = 0;
    await start({
      wrap: (keeper) => ({
        release: (lease) => keeper.release(lease),
        async acquire(address) {
          // Another process has linked the device between our look and our lease.
          others++;
          await space.clients.commands.hset(device.keys.desired, 'want', 'linked');
          return keeper.acquire(address);
        },
      }),
    });
    await eventually(async () => others > 0 && !(await device.read()).leaseHeld);
    expect(await device.keysLeft()).to.include('creds');
    expect(device.listedByPhone).to.equal(1);
  });

  it('leaves no lease behind when it is stopped while it takes one', async () => {
    await device.askToLink();
    let stopping: Promise<void> | undefined;
    const process = await start({
      wrap: (keeper) => ({
        release: (lease) => keeper.release(lease),
        async acquire(address) {
          stopping = process.stop();
          return keeper.acquire(address);
        },
      }),
    });
    await eventually(() => stopping !== undefined);
    await stopping;
    expect((await device.read()).leaseHeld).to.equal(false);
  });

  it('follows a doorbell that rings while it looks', async () => {
    const process = await start();
    await device.askToLink();
    await device.nextCode();
    for (let i = 0; i < 20; i++) await ringDoorbell(space.store, { topic: 'desired', ...device.address });
    await device.askToUnlink();
    await device.becomes('unlinked', { status: 'disconnected', logout: 'confirmed' });
    await process.stop();
  });

  it('keeps the keys of an account when it is stopped before the network has heard of the log-out', async () => {
    const first = await linked();
    simulator.network.faults.add({ on: 'login', match: { account: device.number }, do: { silent: true } });
    await device.askToUnlink();
    await eventually(() => simulator.network.faults.list()[0]!.hits === 1);
    await first.stop();
    expect(await device.keysLeft()).to.include('creds');
    simulator.network.faults.clear();
    await start();
    await device.becomes('unlinked', { logout: 'confirmed' });
    expect(device.listedByPhone).to.equal(0);
    expect(await device.keysLeft()).to.deep.equal([]);
  });

  it('says that the phone may still list a device whose credentials cannot be read', async () => {
    await linked();
    await space.clients.commands.set(device.keys.creds, 'not a sealed value');
    await device.askToUnlink();
    await device.becomes('unlinked', { logout: 'unconfirmed' });
    expect(await device.keysLeft()).to.deep.equal([]);
  });

  it('finishes a link that the phone accepted before the process died', async () => {
    const first = await linked();
    await first.stop();
    // Where a process stands that died after the keys were written and before it said so.
    await space.clients.commands.hset(device.keys.desired, 'want', 'linking');
    const { desired } = await device.read();
    await space.clients.commands.hset(device.keys.observed, {
      ...{ status: 'connecting', reason: 'linking', attemptId: desired!.attemptId, code: 'used', codeExpiresAtMs: 1 },
    });
    await start();
    await device.becomes('linked', { phone: device.number });
    expect(device.listedByPhone).to.equal(1);
  });

  it('shows no code of an attempt before its own first one', async () => {
    const first = await start();
    await device.askToLink();
    const old = await device.nextCode();
    await first.stop();
    simulator.network.faults.add({ on: 'connect', do: { silent: true }, count: 1 });
    await start();
    await eventually(() => simulator.network.faults.list()[0]!.hits === 1);
    const { observed } = await device.read();
    expect(observed?.code).to.not.equal(old);
  });

  it('logs the account out that is there before it links another', async () => {
    await linked();
    const [other] = makeNumbers(1, 8);
    await device.askToLink({ forceNew: true });
    const code = await device.nextCode();
    expect(device.listedByPhone).to.equal(0);
    await device.scan(code, other);
    await device.becomes('linked', { phone: other! });
  });

  it('ends an attempt that the network hangs up on after the last code as expired', async () => {
    const { settings } = simulator.network;
    const usual = { ...settings };
    Object.assign(settings, { qrCodes: 1, firstQrMs: 300 });
    try {
      await start();
      await device.askToLink();
      await device.becomes('unlinked', { status: 'disconnected', reason: 'link_expired' });
    } finally {
      Object.assign(settings, usual);
    }
  });

  it('ends an attempt with a number that the network refuses as refused', async () => {
    await fetch(`${simulator.adminUrl}/admin/phones/${device.number}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ exists: false }),
    });
    await start();
    await device.askToLink({ method: 'pairingCode' });
    await device.becomes('unlinked', { status: 'disconnected', reason: 'link_refused' });
  });

  describe('holds a linked device that no sender takes', () => {
    const holdAfterMs = 300;
    const aliveSender = (held: number) =>
      beatHeart(space.store, 'main', 'sender', { self: { id: 'sender-1', held, capacity: 1 }, ttlMs: 60_000 });

    afterEach(() => space.clients.commands.del(`${space.prefix}:{main}:members:sender`));

    it('connected, until a sender has room', async () => {
      await linked();
      await aliveSender(1);
      const process = await start({ holdAfterMs });
      await device.becomes('linked', { status: 'connected', phone: device.number });
      await aliveSender(0);
      await eventually(async () => !(await device.read()).leaseHeld);
      await process.stop();
    });

    it('leaves it to a sender that has room, and opens no socket', async () => {
      await linked();
      await aliveSender(0);
      const logins = simulator.network.counters.logins;
      await (await start({ holdAfterMs })).looksAtAll();
      expect(simulator.network.counters.logins).to.equal(logins);
    });

    it('and gives it up when the phone removes it', async () => {
      await linked();
      await start({ holdAfterMs });
      await device.becomes('linked', { status: 'connected' });
      const [id] = simulator.network.accounts.find(device.number)!.devices.keys();
      await fetch(`${simulator.adminUrl}/admin/accounts/${device.number}/devices/${id}`, { method: 'DELETE' });
      await device.becomes('unlinked', { status: 'disconnected', reason: 'logged_out' });
      expect(await device.keysLeft()).to.deep.equal(['creds:quarantined']);
    });

    describe('and counts with the senders how often that failed:', () => {
      const starts = () => readStarts(space.store, device.address);

      it('after many times it rests before it opens a socket, says so, and can be logged out meanwhile', async () => {
        await (await linked()).stop();
        await space.clients.commands.set(device.keys.starts, 20);
        const { logins } = simulator.network.counters;
        const process = await start({ holdAfterMs });
        const seen = await device.becomes('linked', { status: 'connecting', reason: 'owner_failing' });
        expect(seen.notBeforeMs! - seen.sinceMs).to.be.within(10_000, 120_000);
        await process.looksAtAll();
        expect(simulator.network.counters.logins).to.equal(logins);
        expect(await starts(), 'nothing was begun').to.equal(20);
        await device.askToUnlink();
        await device.becomes('unlinked', { logout: 'confirmed' });
      });

      it('one that dies counts, one that ends as it should does not', async () => {
        await (await linked()).stop();
        await space.clients.commands.set(device.keys.starts, 2);
        const process = await start({ holdAfterMs });
        await device.becomes('linked', { status: 'connected' });
        expect(await starts()).to.equal(3);
        await process.stop();
        await eventually(async () => (await starts()) === 2);
      });

      it('one that lasts ends the suspicion', async () => {
        await (await linked()).stop();
        await space.clients.commands.set(device.keys.starts, 2);
        await start({ holdAfterMs, lastedMs: 100 });
        await eventually(async () => (await starts()) === 0);
      });
    });

    it('and does not fight with another client that uses its keys', async () => {
      await linked();
      const process = await start({ holdAfterMs });
      await device.becomes('linked', { status: 'connected' });
      const { logins } = simulator.network.counters;
      for (const each of simulator.network.accounts.find(device.number)!.devices.values()) each.connection?.replace();
      const { notBeforeMs, sinceMs } = await device.becomes('linked', { status: 'connecting', reason: 'replaced' });
      expect(notBeforeMs! - sinceMs, 'the next process waits, too').to.be.within(9_000, 11_000);
      await process.looksAtAll();
      expect(simulator.network.counters.logins).to.equal(logins);
    });

    it('and parks it when that client comes for the third time, whichever process saw the first two', async () => {
      await (await linked()).stop();
      const lease = (await acquireLease(space.store, device.address, { owner: 'a sender', ttlMs: 60_000 }))!;
      const earlier = [1, 2].map(() => noteReplaced(space.store, lease, Date.now()));
      expect(await Promise.all(earlier)).to.deep.equal(['once', 'once']);
      await releaseLease(space.store, lease);
      const process = await start({ holdAfterMs });
      await device.becomes('linked', { status: 'connected' });
      const { logins } = simulator.network.counters;
      for (const each of simulator.network.accounts.find(device.number)!.devices.values()) each.connection?.replace();
      await device.becomes('parked', { status: 'disconnected', reason: 'replaced' });
      await process.looksAtAll();
      expect(simulator.network.counters.logins).to.equal(logins);
      expect(await device.read()).to.include({ leaseHeld: false, hasKeys: true });
    });
  });

  describe('keeps the keys of a parked device', () => {
    /** Linked once; another client has taken its keys until its owner gave up. */
    async function parked(): Promise<string> {
      await (await linked()).stop();
      await space.clients.commands.hset(device.keys.desired, 'want', 'parked');
      const [id] = simulator.network.accounts.find(device.number)!.devices.keys();
      return String(id);
    }
    const removeOnPhone = (id: string) =>
      fetch(`${simulator.adminUrl}/admin/accounts/${device.number}/devices/${id}`, { method: 'DELETE' });
    const devicesOfPhone = () => [...simulator.network.accounts.find(device.number)!.devices.keys()].map(String);

    it('and opens no socket, before the user asks for it and after', async () => {
      await parked();
      const { logins } = simulator.network.counters;
      await (await start({ holdAfterMs: 0 })).looksAtAll();
      expect(simulator.network.counters.logins).to.equal(logins);
      expect(await device.keysLeft()).to.include('creds');
      await device.askToUnlink();
      await device.becomes('unlinked', { logout: 'confirmed' });
      expect(device.listedByPhone).to.equal(0);
    });

    it('and links it again with them', async () => {
      const id = await parked();
      await start();
      await device.askToLink();
      await device.becomes('linked', { status: 'connecting', reason: 'restoring', phone: device.number });
      expect(devicesOfPhone()).to.deep.equal([id]);
    });

    it('until the network refuses them: then there is a code, in the same attempt', async () => {
      await removeOnPhone(await parked());
      await start();
      await device.askToLink();
      await device.scan(await device.nextCode());
      await device.becomes('linked');
      expect(await device.keysLeft()).to.include('creds');
    });

    it('while the network does not answer', async () => {
      await parked();
      simulator.network.faults.add({ on: 'login', match: { account: device.number }, do: { streamError: 503 } });
      await start();
      await device.askToLink({ method: 'pairingCode' });
      await device.becomes('parked', { status: 'disconnected', reason: 'link_timeout' });
      expect(await device.keysLeft()).to.include('creds');
      simulator.network.faults.clear();
      await device.askToLink();
      await device.becomes('linked');
    });

    it('while the other client is quicker, and says so', async () => {
      const id = await parked();
      simulator.network.faults.add({ on: 'login', match: { account: device.number }, do: { streamError: 440 } });
      await start();
      await device.askToLink();
      await device.becomes('parked', { status: 'disconnected', reason: 'replaced' });
      expect(devicesOfPhone()).to.deep.equal([id]);
      simulator.network.faults.clear();
      await device.askToLink();
      await device.becomes('linked');
      expect(devicesOfPhone()).to.deep.equal([id]);
    });

    it('but not from a new link that is forced', async () => {
      const id = await parked();
      await start();
      await device.askToLink({ forceNew: true });
      await device.nextCode();
      expect(devicesOfPhone()).to.not.include(id);
    });
  });

  it('cancels what was queued for another account before it takes note of the new one', async () => {
    const account = () => space.clients.commands.hget(device.keys.device, 'account');
    const process = await start();
    await device.askToLink();
    await space.clients.commands.hset(device.keys.device, 'account', '491700000000');
    // A send that cannot be cancelled: the process might as well have died there.
    await space.clients.commands.set(device.keys.openSends, 'broken');
    await device.scan(await device.nextCode());
    await eventually(async () => (await device.keysLeft()).includes('creds'));
    await process.looksAtAll();
    expect(await account()).to.equal('491700000000');
    await space.clients.commands.del(device.keys.openSends);
    await device.becomes('linked');
    expect(await account()).to.equal(device.number);
  });

  /** A linked device that nobody holds, and the controller that linked it. */
  async function linked(): Promise<ConnectionProcess> {
    const process = await start();
    await device.link();
    return process;
  }

  it('gives an attempt that failed by surprise another try on the next tick, not at once', async () => {
    let tries = 0;
    const process = await start({
      wrap: (keeper) => ({
        release: (lease) => keeper.release({ ...lease, token: lease.token.slice(0, -1) }),
        async acquire(address) {
          tries++;
          const lease = await keeper.acquire(address);
          // What no line expects: the task throws at its first write.
          return lease && { ...lease, token: `${lease.token}!` };
        },
      }),
    });
    await device.askToLink();
    await eventually(() => tries > 0);
    const before = tries;
    await process.looksAtAll();
    expect(tries - before).to.be.at.most(13);
  });
});
