import { deviceKeys } from '@gateway/contracts/redis-keys';
import { defer } from '@gateway/runtime/deferred';
import { MasterInDoubtError } from '@gateway/store/core/confirming/standing';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { readDeviceState, reportObserved, requestLink, requestUnlink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { expect } from 'chai';
import { takeOut } from './support/test-controller.js';
import { useControllers } from './support/use-controllers.js';

describe('the connection controller', () => {
  const { space, simulator, device, start, linked, asOwner } = useControllers(7);

  it('looks again after it has taken the ownership: what it read before may be done', async () => {
    await (await linked()).stop();
    await device.askToLink({ forceNew: true });
    let others = 0;
    await start({
      wrap: (keeper) => ({
        release: (ownership) => keeper.release(ownership),
        async acquire(address) {
          // Another process has linked the device between our look and our ownership.
          others++;
          await space.clients.commands.hset(device.keys.desired, 'want', 'linked');
          return keeper.acquire(address);
        },
      }),
    });
    await eventually(async () => others > 0 && !(await device.read()).isOwned);
    expect(await device.keysLeft()).to.include('creds');
    expect(device.listedByPhone).to.equal(1);
  });

  it('leaves no ownership behind when it is stopped while it takes one', async () => {
    await device.askToLink();
    let stopping: Promise<void> | undefined;
    const process = await start({
      wrap: (keeper) => ({
        release: (ownership) => keeper.release(ownership),
        async acquire(address) {
          stopping = process.stop();
          return keeper.acquire(address);
        },
      }),
    });
    await eventually(() => stopping !== undefined);
    await stopping;
    expect((await device.read()).isOwned).to.equal(false);
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

  it('acts for the devices of all workspaces, of the same name too', async () => {
    const theirs = { ...device.address, workspace: 'other' };
    await ensureDevice(space.store, theirs);
    await start();
    await device.askToLink();
    await requestLink(space.store, theirs, { attemptId: 'theirs', method: 'qrCode', forceNew: false });
    await ringDoorbell(space.store, { topic: 'desired', ...theirs });
    const ours = await device.nextCode();
    const code = await eventually(async () => (await readDeviceState(space.store, theirs)).observed?.code);
    expect(code).to.not.equal(ours);
    await requestUnlink(space.store, theirs, { attemptId: 'no more' });
    await ringDoorbell(space.store, { topic: 'desired', ...theirs });
    await eventually(async () => (await readDeviceState(space.store, theirs)).observed?.status === 'disconnected');
  });

  it('finds without a doorbell what is wanted, and asks for no device of which nothing is', async () => {
    await (await linked()).stop();
    await asOwner(device.address, async (ownership, desired) => {
      await reportObserved(space.store, ownership, desired, { status: 'disconnected', reason: 'replaced' }, 'parked');
    });
    let looks = 0;
    const run: RunScript = (name, keys, args) => {
      if (name === 'read-device-state') looks++;
      return space.store.run(name, keys, args);
    };
    const process = await start({}, { ...space.store, run });
    // Doorbells of what was before may still be on their way between the nodes of a Cluster.
    await process.looksAtAll();
    looks = 0;
    await process.looksAtAll();
    expect(looks).to.equal(0);
    await requestUnlink(space.store, device.address, { attemptId: 'unheard' });
    await device.becomes('unlinked', { status: 'disconnected', logout: 'confirmed' });
  });

  it('keeps the keys of an account when it is stopped before the network has heard of the logout', async () => {
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
      await (await start({ senderWaitMs: 0 })).looksAtAll();
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

  it('waits with a link while the master of Redis may have been replaced', async () => {
    let tries = 0;
    await start({
      wrap: (keeper) => ({
        release: (ownership) => keeper.release(ownership),
        async acquire(address) {
          if (++tries < 3) throw new MasterInDoubtError();
          return keeper.acquire(address);
        },
      }),
    });
    await device.link();
    expect(tries).to.be.at.least(3);
  });

  it('tries again what failed at one device while another one has no answer, as its node of a Cluster is away', async () => {
    const away = defer<void>();
    const theirs = { ...device.address, workspace: 'other' };
    await ensureDevice(space.store, theirs);
    await requestLink(space.store, theirs, { attemptId: 'theirs', method: 'qrCode', forceNew: false });
    let hung = 0;
    const run: RunScript = async (name, keys, args) => {
      if (name === 'read-device-state' && keys.includes(deviceKeys(space.store.space, theirs).desired)) {
        hung++;
        await away.promise;
      }
      return space.store.run(name, keys, args);
    };
    let tries = 0;
    await start(
      {
        wrap: (keeper) => ({
          release: (ownership) => keeper.release(ownership),
          async acquire(address) {
            if (++tries < 3) throw new MasterInDoubtError();
            return keeper.acquire(address);
          },
        }),
      },
      { ...space.store, run },
    );
    await eventually(() => hung > 0, { what: 'it asks' });
    try {
      await device.link();
    } finally {
      away.resolve();
      await takeOut(space.store, theirs);
    }
  });

  it('gives an attempt that failed by surprise another try on the next tick, not at once', async () => {
    let tries = 0;
    const process = await start({
      wrap: (keeper) => ({
        release: (ownership) => keeper.release({ ...ownership, token: ownership.token.slice(0, -1) }),
        async acquire(address) {
          tries++;
          const ownership = await keeper.acquire(address);
          // What no line expects: the task throws at its first write.
          return ownership && { ...ownership, token: `${ownership.token}!` };
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
