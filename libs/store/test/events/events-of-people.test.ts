import { randomBytes } from 'node:crypto';
import { createStore } from '@gateway/store/core/store';
import { UnknownKeyError } from '@gateway/store/core/vault';
import { ensureDevice } from '@gateway/store/devices/devices';
import { openEvents } from '@gateway/store/events/open-events';
import type { EventFilter } from '@gateway/store/events/render-events';
import { readArrival, recordReceived } from '@gateway/store/inbound/received-messages';
import { addOptOuts, removeOptOut } from '@gateway/store/workspace/opt-outs';
import { expect } from 'chai';
import { readTold } from '../support/read-told.js';
import { useOwnedDevice } from '../support/use-owned-device.js';

const PEOPLE = Array.from({ length: 2 }, (_, i) => `4915112345${String(600 + i)}`);

describe('the events of what people write and want', () => {
  const { address, space, ownership } = useOwnedDevice();
  beforeEach(async () => {
    await ensureDevice(space.store, address);
    await openEvents(space.store, 'main');
  });
  const told = (filter?: EventFilter) => readTold(space.store, filter);

  it('tell what people write, and who opts out', async () => {
    const message = {
      platformId: '3A01',
      jid: '4915112345600@s.whatsapp.net',
      phone: PEOPLE[0]!,
      text: 'hello',
      name: 'Ann',
    };
    for (let times = 0; times < 2; times++) {
      await recordReceived(space.store, ownership, { message, nowMs: Date.now() });
      await addOptOuts(space.store, 'main', { numbers: PEOPLE.slice(0, 2), source: 'reply', atMs: 1_000 });
    }
    for (let times = 0; times < 2; times++) await removeOptOut(space.store, 'main', PEOPLE[0]!);
    const events = await told();
    expect(events.map(({ type }) => type).sort()).to.deep.equal(['message.received', 'optout.added', 'optout.removed']);
    const received = events.find(({ type }) => type === 'message.received')!;
    expect(received.data).to.deep.include({ from: PEOPLE[0], name: 'Ann', content: { type: 'text', text: 'hello' } });
  });

  it('tell of what was written under a key that is lost, an hour later, and hold up nothing behind it', async () => {
    const keyRings = { credentials: [], contents: [{ id: 'another', key: randomBytes(32) }] };
    const elsewhere = createStore({ redis: space.store.redis, space: space.store.space, keyRings });
    const write = (platformId: string, agoMs: number, store = elsewhere) =>
      recordReceived(store, ownership, {
        message: { platformId, jid: 'j', phone: PEOPLE[0]!, text: 'hello' },
        nowMs: Date.now() - agoMs,
      });
    await write('3A01', 3_600_000);
    await write('3A02', 0, space.store);
    expect((await told()).map(({ data }) => [data.platformMessageId, data.content])).to.deep.equal([
      ['3A01', { type: 'text', text: null }],
      ['3A02', { type: 'text', text: 'hello' }],
    ]);
    await write('3A03', 60_000);
    expect(await told().catch((thrown: unknown) => thrown)).to.be.instanceOf(UnknownKeyError);
  });

  it('name people without a number by their hidden identifier', async () => {
    const numbers = ['123456789012345@lid'];
    await addOptOuts(space.store, 'main', { numbers, source: 'reply', atMs: 1_000 });
    expect((await told()).map(({ data }) => data.phones)).to.deep.equal([numbers]);
  });

  it('have no earlier time than what was written before them, where another process with another clock takes them', async () => {
    const nowMs = Date.now();
    const write = (platformId: string, aheadMs: number) =>
      recordReceived(space.store, ownership, {
        message: { platformId, jid: 'j', phone: PEOPLE[0]!, text: 'hello' },
        nowMs: nowMs + aheadMs,
      });
    await write('3A01', 0);
    await write('3A02', -400);
    await write('3A03', 100);
    // Its clock is no better than that of the first.
    await write('3A04', -10_000);
    const events = await told();
    expect(events.map(({ timestamp }) => Date.parse(timestamp) - nowMs)).to.deep.equal([0, 0, 100, -10_000]);
    const arrivals = ['3A01', '3A02'].map((id) => readArrival(space.store, address, id));
    expect(await Promise.all(arrivals), 'as it is looked for').to.deep.equal([nowMs, nowMs]);
  });

  it('tell what was written first under an id, whatever else comes under it, and each id apart', async () => {
    const write = (platformId: string, text: string) =>
      recordReceived(space.store, ownership, {
        message: { platformId, jid: 'j', phone: PEOPLE[0]!, text },
        nowMs: Date.now(),
      });
    await write('A-B', 'first');
    await write('A-B', 'second');
    await write('A.B', 'third');
    const events = await told({ devices: [address.device] });
    expect(events.map(({ data }) => (data.content as { text: string }).text)).to.deep.equal(['first', 'third']);
    expect(new Set(events.map(({ id }) => id)).size).to.equal(2);
  });
});
