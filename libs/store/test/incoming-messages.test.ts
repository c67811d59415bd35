import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Store } from '@gateway/store/core/store';
import { takeAccount } from '@gateway/store/devices/take-account';
import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import {
  forgetReceivedFrom,
  readInbound,
  readReceived,
  recordReceived,
} from '@gateway/store/inbound/received-messages';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { standIn } from '@gateway/testkit/stand-in';
import { expect } from 'chai';
import { KNOWN, OTHER, useOwnedDevice } from './support/use-owned-device.js';

const DAY_MS = 24 * 60 * 60 * 1000;

describe('what people write to a device', () => {
  const { address, space, ownership } = useOwnedDevice();

  const hear = (text: string, from: { phone?: string; hiddenId?: string; isPhoneStored?: true }, platformId = 'ID') =>
    recordIncoming(space.store, ownership, {
      message: { platformId, jid: '1@lid', text, atMs: Date.now(), ...from },
      nowMs: Date.now(),
    });
  const isOut = async (phone: string) => (await findOptOut(space.store, 'main', phone)) !== undefined;

  it('opts them out and in, and says what has changed', async () => {
    expect(await hear('STOP', { phone: KNOWN })).to.equal('optedOut');
    expect(await hear('stop', { phone: KNOWN })).to.equal(undefined);
    expect(await isOut(KNOWN)).to.equal(true);
    expect(await hear('hello', { phone: KNOWN })).to.equal(undefined);
    expect(await isOut(KNOWN)).to.equal(true);
    expect(await hear('START', { phone: KNOWN })).to.equal('optedIn');
    expect(await hear('START', { phone: KNOWN })).to.equal(undefined);
    expect(await isOut(KNOWN)).to.equal(false);
  });

  it('counts for a number that only a pair in the keys names where there is no other name', async () => {
    await hear('STOP', { phone: KNOWN, isPhoneStored: true });
    expect(await isOut(KNOWN)).to.equal(true);
    await hear('STOP', { phone: OTHER, hiddenId: '5@lid', isPhoneStored: true });
    expect(await isOut(OTHER), 'that pair may be made up').to.equal(false);
    await hear('hello', { phone: OTHER, hiddenId: '5@lid' });
    expect(await isOut(OTHER), 'now the network says so').to.equal(true);
  });

  it('is written last: replicas are asked about the server that has it, while the bytes of the device are on their way', async () => {
    const { run } = space.store;
    const isOnItsWay = new Promise<never>(() => {});
    const store: Store = {
      ...space.store,
      run: (name, ...rest) => (name === 'write-always' ? isOnItsWay : run(name, ...rest)),
    };
    const message = { platformId: 'ID', jid: '1@lid', text: 'hello', atMs: Date.now(), phone: KNOWN };
    let isRecorded = false;
    void recordIncoming(store, ownership, { message, nowMs: Date.now() }).then(() => {
      isRecorded = true;
    });
    await eventually(() => isRecorded, { timeoutMs: 5_000 });
    expect(await readInbound(space.store, address, { receivedId: 'ID', nowMs: Date.now() })).to.include({
      text: 'hello',
    });
  });

  it('can be quoted for seven days', async () => {
    const message = { platformId: 'ID', jid: '1@lid', text: 'hello' };
    await recordReceived(space.store, ownership, { message, nowMs: DAY_MS });
    const read = (days: number, platformId = 'ID') =>
      readReceived(space.store, address, { receivedId: platformId, nowMs: days * DAY_MS });
    expect(await read(7.99)).to.deep.equal(message);
    expect(await read(8)).to.equal(undefined);
    expect(await read(2, 'OTHER')).to.equal(undefined);
  });

  describe('is kept', () => {
    const keys = standIn(() => deviceKeys(space.store.space, address));
    // Each in a millisecond of its own: the order of those of one is that of their ids.
    let lastMs = Date.now();
    const write = (platformId: string, text = 'hello', mostBytes?: number) =>
      recordReceived(space.store, ownership, {
        message: { platformId, jid: '1@lid', text },
        nowMs: ++lastMs,
        ...(mostBytes !== undefined && { mostBytes }),
      });
    const kept = async () => (await space.clients.commands.zrange(keys.receivedTimes, '0', '-1')).join();

    it('once: what the network repeats is not new', async () => {
      const first = await write('A');
      expect(first.isNew).to.equal(true);
      expect(await write('A')).to.deep.equal({ ...first, isNew: false });
      expect((await write('B')).isNew).to.equal(true);
    });

    it('whole', async () => {
      const text = 'ب'.repeat(65_536);
      await write('A', text);
      expect((await readReceived(space.store, address, { receivedId: 'A', nowMs: Date.now() }))?.text).to.equal(text);
    });

    it('as long as there is room: the oldest go first, and never the newest', async () => {
      const text = 'x'.repeat(1_000);
      const { keptBytes } = await write('A', text);
      for (const id of ['B', 'C', 'D']) await write(id, text, 3 * keptBytes);
      expect(await kept()).to.equal('B,C,D');
      await write('E', 'y'.repeat(10_000), 3 * keptBytes);
      expect(await kept()).to.equal('E');
    });

    it('counted, also after a part was forgotten, and where earlier versions did not count', async () => {
      const first = await write('A');
      await write('B');
      await space.clients.commands.del(keys.receivedBytes);
      expect((await write('B')).keptBytes).to.equal(2 * first.keptBytes);
      await forgetReceivedFrom(space.store, address, ({ jid }) => jid === '1@lid');
      expect(await kept(), 'when they came').to.equal('A,B');
      expect((await write('A')).keptBytes).to.equal(first.keptBytes);
      await write('B');
      await space.clients.commands.del(keys.receivedBytes);
      await forgetReceivedFrom(space.store, address, () => true);
      expect((await write('A')).keptBytes, 'the count was over by then').to.equal(first.keptBytes);
      await write('C');
      expect((await write('D', 'hello', 2 * first.keptBytes)).keptBytes).to.equal(2 * first.keptBytes);
      expect(await kept()).to.equal('C,D');
    });

    it('within the share of a workspace, whose devices all come down to the same part of it', async () => {
      const { commands } = space.clients;
      const [, limit] = (await commands.config('GET', 'maxmemory')) as [string, string];
      await commands.config('SET', 'maxmemory', String(1024 * 1024 * 1024));
      try {
        const hour = Math.floor(Date.now() / 3_600_000);
        const share = 0.05 * 1024 * 1024 * 1024;
        const noted = { [address.device]: `${share / 1_000}/${hour}`, other: `${3 * share}/${hour}`, old: `${1e12}/1` };
        await commands.hset(workspaceKeys(space.store.space, address.workspace).receivedBytes, noted);
        for (let i = 0; i < 40; i++) {
          await hear('x'.repeat(1_000), { phone: KNOWN }, `ID${i}`);
        }
        expect(Number(await commands.get(keys.receivedBytes))).to.be.within(1_000, share / 3_000);
      } finally {
        await commands.config('SET', 'maxmemory', limit);
      }
    });

    it('when another account is linked, whose conversations it is not part of', async () => {
      const take = (phone: string) => takeAccount(space.store, ownership, { phone, nowMs: Date.now() });
      await take('447700900123');
      await write('A');
      await take('447700900124');
      const wanted = { receivedId: 'A', nowMs: Date.now() };
      expect(await readReceived(space.store, address, wanted)).to.equal(undefined);
      expect(await readInbound(space.store, address, wanted)).to.include({ text: 'hello' });
    });
  });
});
