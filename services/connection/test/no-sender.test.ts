import { reportObserved, requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { takeOut } from './support/test-controller.js';
import { useControllers } from './support/use-controllers.js';

describe('the connection controller', () => {
  const { space, simulator, device, start, linked, asOwner } = useControllers(17);

  describe('without a sender', () => {
    const senderWaitMs = 300;

    it('opens no socket, however many linked devices there are', async () => {
      await (await linked()).stop();
      await asOwner(device.address, async (ownership, desired) => {
        await reportObserved(space.store, ownership, desired, { status: 'connected', phone: device.number });
      });
      const copies = Array.from({ length: 120 }, (_, i) => `copy-${i}`);
      await Promise.all(copies.map((copy) => copyDevice(copy)));
      const { connections } = simulator.network.counters;
      await (await start({ senderWaitMs })).looksAtAll();
      expect(simulator.network.counters.connections).to.equal(connections);
      expect((await device.read()).isOwned).to.equal(false);
      await Promise.all(copies.map((copy) => takeOut(space.store, { workspace: 'main', device: copy })));
    });

    it('makes the one login that a new link needs, and lets go', async () => {
      await (await linked()).stop();
      const { logins } = simulator.network.counters;
      const process = await start({ senderWaitMs });
      await eventually(() => simulator.network.counters.logins === logins + 1, { what: 'its login' });
      await eventually(async () => !(await device.read()).isOwned);
      await process.looksAtAll();
      expect(simulator.network.counters.logins).to.equal(logins + 1);
      expect((await device.read()).observed).to.include({ status: 'connecting', phone: device.number });
    });

    it('makes that login once, however it ends, and notes what the network asks for', async () => {
      await (await linked()).stop();
      const match = { account: device.number };
      const refusal = simulator.network.faults.add({ on: 'login', match, do: { streamError: 429 } });
      const process = await start({ senderWaitMs });
      const { notBeforeMs, sinceMs } = await device.becomes('linked', { status: 'connecting', reason: 'rate_limited' });
      expect(notBeforeMs! - sinceMs, 'the sender waits, too').to.be.within(299_000, 300_000);
      await process.looksAtAll();
      expect(refusal.hits).to.equal(1);
    });

    it('gives a new link up when the phone has removed it by then', async () => {
      await (await linked()).stop();
      const [id] = simulator.network.accounts.find(device.number)!.devices.keys();
      await fetch(`${simulator.adminUrl}/admin/accounts/${device.number}/devices/${id}`, { method: 'DELETE' });
      await start({ senderWaitMs });
      await device.becomes('unlinked', { status: 'disconnected', reason: 'logged_out' });
      expect(await device.keysLeft()).to.deep.equal(['creds:quarantined']);
    });

    /** A linked device under another name, with the same keys. */
    async function copyDevice(name: string): Promise<void> {
      const { store } = space;
      const address = { workspace: 'main', device: name };
      await ensureDevice(store, address);
      await requestLink(store, address, { attemptId: name, method: 'qrCode', forceNew: false });
      const creds = await deviceKeyStore(store, { address: device.address, epoch: 0, token: 'reader' }).readCreds();
      await asOwner(address, async (ownership, desired) => {
        await deviceKeyStore(store, ownership).commit({ creds: creds! });
        await reportObserved(store, ownership, desired, { status: 'connecting', reason: 'network' }, 'linked');
      });
    }
  });

  describe('keeps to a pause that the network asked for:', () => {
    /** A linked device whose last owner was told to wait, for so long from now. */
    async function paused(forMs: number, want: 'linked' | 'parked' = 'linked'): Promise<number> {
      await (await linked()).stop();
      const notBeforeMs = Date.now() + forMs;
      const status = want === 'linked' ? 'connecting' : 'disconnected';
      await asOwner(device.address, async (ownership, desired) => {
        await reportObserved(space.store, ownership, desired, { status, reason: 'rate_limited', notBeforeMs }, want);
      });
      return notBeforeMs;
    }
    const logins = () => simulator.network.counters.logins;

    it('a logout says that the phone may still list the device', async () => {
      await paused(60_000);
      const before = logins();
      await start();
      await device.askToUnlink();
      await device.becomes('unlinked', { logout: 'unconfirmed' });
      expect(logins()).to.equal(before);
      expect(await device.keysLeft()).to.deep.equal([]);
    });

    it('a logout waits for one that is about to end', async () => {
      const notBeforeMs = await paused(700);
      const login = simulator.network.faults.add({
        on: 'login',
        do: { delayMs: 1 },
        match: { account: device.number },
      });
      await start();
      await device.askToUnlink();
      const early = await eventually(() => (login.hits > 0 ? { atMs: Date.now() } : undefined), { everyMs: 5 });
      expect(early.atMs).to.be.at.least(notBeforeMs);
      await device.becomes('unlinked', { logout: 'confirmed' });
    });

    it('a parked device stays parked, and says why', async () => {
      const notBeforeMs = await paused(60_000, 'parked');
      const before = logins();
      await start();
      await device.askToLink();
      await device.becomes('parked', { status: 'disconnected', reason: 'rate_limited', notBeforeMs });
      expect(logins()).to.equal(before);
      expect(await device.keysLeft()).to.include('creds');
    });

    it('a new link in place of the account is not begun, and the account stays', async () => {
      const notBeforeMs = await paused(60_000);
      const { connections } = simulator.network.counters;
      await start();
      await device.askToLink({ forceNew: true });
      await device.becomes('linked', { status: 'connecting', reason: 'rate_limited', notBeforeMs });
      expect(simulator.network.counters.connections).to.equal(connections);
      expect(device.listedByPhone).to.equal(1);
    });

    it('what the network says to a linking attempt, the next one keeps to', async () => {
      await start();
      await device.askToLink();
      const code = await device.nextCode();
      const match = { account: device.number };
      simulator.network.faults.add({ on: 'pairing', match, do: { streamError: 429 } });
      await device.scan(code).catch(() => {});
      const first = await device.becomes('unlinked', { status: 'disconnected', reason: 'rate_limited' });
      simulator.network.faults.clear();
      const { connections } = simulator.network.counters;
      await device.askToLink();
      const { attemptId } = (await device.read()).desired!;
      await device.becomes('unlinked', { reason: 'rate_limited', attemptId: attemptId! });
      expect(simulator.network.counters.connections).to.equal(connections);
      expect((await device.read()).observed?.notBeforeMs).to.equal(first.notBeforeMs);
    });

    it('what the network says to a login with kept keys, the next one keeps to', async () => {
      await (await linked()).stop();
      await space.clients.commands.hset(device.keys.desired, 'want', 'parked');
      simulator.network.faults.add({ on: 'login', match: { account: device.number }, do: { streamError: 429 } });
      await start();
      await device.askToLink();
      const first = await device.becomes('parked', { reason: 'rate_limited' });
      simulator.network.faults.clear();
      const before = logins();
      await device.askToLink();
      await device.becomes('parked', { reason: 'rate_limited', attemptId: (await device.read()).desired!.attemptId! });
      expect(logins()).to.equal(before);
      expect((await device.read()).observed?.notBeforeMs).to.equal(first.notBeforeMs);
    });
  });
});
