import type { InboundContent } from '@gateway/contracts/content/inbound-content';
import { LOG_START } from '@gateway/contracts/events/cursor';
import { eventSchema, type GatewayEvent } from '@gateway/contracts/events/events';
import type { Store } from '@gateway/store/core/store';
import { createVault } from '@gateway/store/core/vault';
import { ensureDevice } from '@gateway/store/devices/devices';
import { openEvents } from '@gateway/store/events/open-events';
import { readLog } from '@gateway/store/events/read-log';
import { findEvent } from '@gateway/store/events/reading/find-event';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { forgetReceivedFrom, recordReceived } from '@gateway/store/inbound/received-messages';
import { eventually } from '@gateway/testkit/eventually';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { expect } from 'chai';
import { renderEvents } from '../support/render-events.js';
import { useOwnedDevice } from '../support/use-owned-device.js';

const PEOPLE = ['491511234500', '491511234501'] as const;

describe('messages that several people wrote under one id', () => {
  const { address, space, ownership } = useOwnedDevice();
  beforeEach(async () => {
    await ensureDevice(space.store, address);
    await openEvents(space.store, 'main');
  });
  async function told(): Promise<GatewayEvent[]> {
    for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
    const found = await readLog(space.store, 'main', LOG_START, { limit: 100 });
    if ('oldest' in found) throw new Error('gone');
    const events = (await renderEvents(space.store, 'main', found.entries)).map(({ event }) => event);
    for (const event of events) expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
    return events;
  }
  const [pn, spelling] = ['551187654321', '5511987654321'];
  const write = async (
    who: { jid: string; phone?: string; hiddenId?: string },
    more: { text?: string; atMs?: number; content?: InboundContent; store?: Store } = {},
  ) => {
    const { store = space.store, ...rest } = more;
    const message = { platformId: '3A.2', ...who, text: 'hello', atMs: Date.now(), ...rest };
    return (await recordReceived(store, ownership, { message, nowMs: Date.now() })).isNew;
  };
  const other = { jid: '9@lid', phone: PEOPLE[0] };
  const textsTold = async () => (await told()).map(({ data }) => (data.content as { text: string }).text);

  it('are told, also when a phone takes the id of a message of another', async () => {
    const media = { directPath: '/d', mediaKey: 'k', sha256: 's', sealedSha256: 'e', mimeType: 'image/png', bytes: 7 };
    const content = { type: 'image', media } as const;
    const [ann, ben, cyd] = [{ jid: '1@lid', phone: PEOPLE[0] }, { jid: '2@lid', phone: PEOPLE[1] }, { jid: '3@lid' }];
    const newOf = [];
    for (let repeat = 0; repeat < 2; repeat++) {
      for (const who of [ann, ben]) newOf.push(await write(who, { content }));
      newOf.push(await write(cyd));
    }
    newOf.push(await write({ jid: `${ann.phone}@s.whatsapp.net`, phone: ann.phone }));
    expect(newOf).to.deep.equal([true, true, true, false, false, false, false]);
    const events = await told();
    expect(events.map(({ data }) => [data.platformMessageId, data.from])).to.deep.equal([
      ...[ann, ben].map(({ phone }) => ['3A.2', phone]),
      ['3A.2', '3@lid'],
    ]);
    const mediaIds = events.flatMap(({ data }) => (data.content as { media?: { id: string } }).media?.id ?? []);
    expect(new Set([...mediaIds, ...events.map(({ id }) => id)]).size).to.equal(5);
    for (const event of events) expect(await findEvent(space.store, 'main', event.id)).to.deep.equal(event);
    const phones = events.map(({ id }) => PEOPLE.some((phone) => id.includes(phone)));
    expect(phones, 'an id says nothing of a person').to.deep.equal([false, false, false]);
  });

  it('tell each once, also where the network calls one by another name when it repeats', async () => {
    await write(other);
    expect(await write({ jid: '1@lid' })).to.equal(true);
    for (const same of [
      { jid: '1@lid', phone: pn! },
      { jid: `${pn}@s.whatsapp.net`, phone: pn!, hiddenId: '1@lid' },
    ])
      expect(await write(same)).to.equal(false);
    expect(await write({ jid: `${pn}@s.whatsapp.net`, phone: pn! })).to.equal(true);
    expect(await write({ jid: `${spelling}@s.whatsapp.net`, phone: spelling! })).to.equal(false);
    expect(await told()).to.have.length(3);
  });

  it('tell what cannot be read whether it is the same, rather twice than never', async () => {
    const keys = [{ id: 'another', key: Buffer.alloc(32, 9) }];
    const store = { ...space.store, vault: createVault({ credentials: keys, contents: keys }) };
    await write(other);
    expect([await write({ jid: '1@lid' }, { store }), await write({ jid: '1@lid' }, { store })]).to.deep.equal([
      true,
      false,
    ]);
  });

  it('tell of no more than eight, and of none again whose message is forgotten', async () => {
    const all = Array.from({ length: 9 }, (_, i) => ({ jid: `${i}@lid` }));
    const newOf = [];
    for (const who of all) newOf.push(await write(who));
    expect(newOf).to.deep.equal([...Array(8).fill(true), false]);
    await forgetReceivedFrom(space.store, address, ({ jid }) => jid === '0@lid');
    expect(await write({ jid: '3@lid' })).to.equal(false);
    expect(await told()).to.have.length(8);
  });

  it('have no other words when a message is forgotten and its id is taken', async () => {
    await write({ jid: '1@lid' }, { text: 'mine' });
    await forgetReceivedFrom(space.store, address, () => true);
    // Of one millisecond it cannot be said which came first.
    const forgottenMs = Date.now();
    await eventually(() => Date.now() > forgottenMs, { everyMs: 1 });
    await write({ jid: '2@lid' }, { text: 'not theirs', atMs: Date.now() + 61_000 });
    expect(await textsTold()).to.deep.equal([null, 'not theirs']);
  });

  it('have their words where Redis lost a message, which the network repeats', async () => {
    const atMs = Date.now() - 2_000;
    await write({ jid: '1@lid' }, { atMs });
    await forgetReceivedFrom(space.store, address, () => true);
    await eventually(async () => Date.now() > atMs + 2_005);
    await write({ jid: '1@lid' }, { atMs });
    expect(await textsTold()).to.deep.equal(['hello', 'hello']);
  });
});
