import { LOG_START } from '@gateway/contracts/events/cursor';
import { EVENT_TYPES, type GatewayEvent } from '@gateway/contracts/events/events';
import { parseMessageId } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { recordObserved } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { openEvents } from '@gateway/store/events/open-events';
import { type LogPart, readLog } from '@gateway/store/events/read-log';
import { findEvent } from '@gateway/store/events/reading/find-event';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { forgetReceivedFrom, recordReceived } from '@gateway/store/inbound/received-messages';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, expireSend, forgetRecipient, recordResults } from '@gateway/store/sends/change-send';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { expect } from 'chai';
import { renderEvents } from '../support/render-events.js';
import { useOwnedDevice } from '../support/use-owned-device.js';

const MINUTE_MS = 60_000;
const PEOPLE = ['4915112345600', '4915112345601', '4915112345602'];

/** An entry of the workspace, of a time long ago, without a part. */
const OF_OTHERS = Buffer.from([1, 0, 0, 0, 0, 0, 0, 1, 0]);

describe('an event that is asked for by its id', () => {
  const { address, space, ownership } = useOwnedDevice();
  beforeEach(async () => {
    await ensureDevice(space.store, address);
    await openEvents(space.store, 'main');
  });

  const accept = async (kind: 'text' | 'otp', recipients: string[], nowMs = Date.now()) => {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, recipients, owner: 't', requestId: 'order-1' },
      ...{ nowMs, expiresAtMs: Date.now() + 60_000 },
    });
    return { messageId, tag: parseMessageId(messageId)!.tag };
  };
  const record = (tag: string, event: 'acked' | 'delivered' | 'read', recipients = [0], nowMs = Date.now()) =>
    recordResults(space.store, ownership, {
      ...{ tag, nowMs },
      events: recipients.map((recipient) => ({ recipient, part: 0, event })),
    });
  async function told(): Promise<GatewayEvent[]> {
    for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
    const { entries } = (await readLog(space.store, 'main', LOG_START, { limit: 1_000 })) as LogPart;
    return (await renderEvents(space.store, 'main', entries, { types: EVENT_TYPES })).map(({ event }) => event);
  }
  const find = (id: string, devices?: string[]) => findEvent(space.store, 'main', id, devices ? { devices } : {});

  /** One of each kind. */
  async function letAllHappen() {
    const list = await accept('text', PEOPLE);
    for (const event of ['acked', 'delivered', 'read'] as const) await record(list.tag, event, [0, 1]);
    await cancelSend(space.store, address, list.messageId);
    await record((await accept('otp', PEOPLE.slice(0, 1))).tag, 'acked');
    const observed = { status: 'connected', phone: PEOPLE[0]!, name: 'Ada' } as const;
    await recordObserved(space.store, ownership, { actedOn: undefined, observed });
    const away = { status: 'connecting', reason: 'network' } as const;
    await recordObserved(space.store, ownership, { actedOn: undefined, observed: away });
    await recordRestriction(space.store, ownership, { kind: 'reach_out_time_lock', sinceMs: 1 });
    await recordRestriction(space.store, ownership, undefined);
    const message = { platformId: '3A.01_x', jid: 'j', phone: PEOPLE[0]!, text: 'hello' };
    await recordReceived(space.store, ownership, { message, nowMs: Date.now() });
    await addOptOuts(space.store, 'main', { numbers: PEOPLE, source: 'api', atMs: Date.now() });
  }

  it('is the one that was told, of each kind; several changes together are none', async () => {
    await letAllHappen();
    const events = await told();
    expect(new Set(events.map(({ type }) => type))).to.include.all.keys(
      ...['message.sent', 'message.delivered', 'message.read', 'message.cancelled', 'otp.sent', 'send.finished'],
      ...['device.connected', 'device.interrupted', 'device.restricted', 'device.unrestricted'],
      ...['message.received', 'optout.added', 'messages.updated'],
    );
    for (const event of events) {
      const found = await find(event.id);
      expect(found, event.id).to.deep.equal(event.type === 'messages.updated' ? undefined : event);
    }
  });

  it('is not there for another workspace or device, nor when it did not happen', async () => {
    await letAllHappen();
    const events = await told();
    const ids = new Map(events.map(({ type, id }) => [type, id]));
    expect(await find(ids.get('message.read')!, ['a'])).to.include({ type: 'message.read' });
    for (const id of ids.values()) {
      expect(await find(id, ['b']), id).to.equal(undefined);
      expect(await findEvent(space.store, 'other', id), id).to.equal(undefined);
    }
    expect(await find(ids.get('message.read')!.replace('_read', '_failed'))).to.equal(undefined);
    expect(await find('evt_no_id')).to.equal(undefined);
  });

  it('is found also where what a person wrote had to go for room, as it is told then', async () => {
    const receive = async (platformId: string, room: object = {}) =>
      recordReceived(space.store, ownership, {
        ...{ message: { platformId, jid: 'j', phone: PEOPLE[0]!, text: 'hello' }, nowMs: Date.now(), ...room },
      });
    const ids = ['3A01', '3A02', '3A03', '3A04'];
    for (const id of ids) await receive(id);
    const [first, second] = await told();
    const unknown = first!.id.replace('3A01', '3A99');
    expect(await find(unknown)).to.equal(undefined);
    await receive('3A05', { mostBytes: 0 });
    const later = await told();
    expect(later.map(({ data }) => (data.content as { text: string | null }).text)).to.deep.equal([
      ...ids.map(() => null),
      'hello',
    ]);
    for (const event of later) expect(await find(event.id), event.id).to.deep.equal(event);
    expect(await find(second!.id, ['b'])).to.equal(undefined);
    expect(await find(unknown), 'may have been in the log before').to.have.property('oldest');
  });

  it('is found also where the person who wrote it was forgotten, as it is told then', async () => {
    const write = (platformId: string, jid: string) =>
      recordReceived(space.store, ownership, { message: { platformId, jid, text: 'hello' }, nowMs: Date.now() });
    await write('3A01', 'gone');
    await write('3A02', 'other');
    const [first] = await told();
    await forgetReceivedFrom(space.store, address, ({ jid }) => jid === 'gone');
    const later = await told();
    expect(later.map(({ id, data }) => [id === first!.id, data.from])).to.deep.equal([
      [true, null],
      [false, 'other'],
    ]);
    for (const event of later) expect(await find(event.id), event.id).to.deep.equal(event);
  });

  it('is found also where a send had expired, and a phone had it all the same', async () => {
    const { tag, messageId } = await accept('text', PEOPLE.slice(0, 1));
    await expireSend(space.store, address, messageId, Date.now() + MINUTE_MS + 1);
    for (const event of ['delivered', 'read'] as const) await record(tag, event);
    const events = (await told()).filter(({ type }) => type !== 'messages.updated');
    expect(events.map(({ type }) => type)).to.have.members([
      ...['message.expired', 'send.finished', 'message.delivered', 'message.read'],
    ]);
    for (const event of events) expect(await find(event.id), event.type).to.deep.equal(event);
    expect(await find(events[0]!.id.replace(/_[a-z]+$/, '_cancelled'))).to.equal(undefined);
  });

  it('is found also where what came after it is not in the log yet', async () => {
    const { tag } = await accept('text', PEOPLE.slice(0, 1));
    await record(tag, 'acked');
    const sent = (await told()).find(({ type }) => type === 'message.sent')!;
    await record(tag, 'delivered', [0], Date.now() + 2 * MINUTE_MS);
    expect(await find(sent.id)).to.deep.equal(sent);
  });

  it('is found also behind what others told late', async () => {
    const { tag } = await accept('text', PEOPLE.slice(0, 1));
    await record(tag, 'acked');
    const sent = (await told()).find(({ type }) => type === 'message.sent')!;
    await space.store.redis.xadd(workspaceKeys(space.store.space, 'main').eventLog, '*', 'e', OF_OTHERS);
    await record(tag, 'delivered', [0], Date.now() + 2 * MINUTE_MS);
    await told();
    expect(await find(sent.id)).to.deep.equal(sent);
  });

  it('is, of the end of a send, found also once all its people were forgotten, whatever came after it', async () => {
    const people = PEOPLE.slice(0, 2);
    const forget = async ({ tag }: { tag: string }) => {
      for (const phone of people) await forgetRecipient(space.store, address, tag, phone);
    };
    const now = Date.now();
    const [read, atOnce] = [await accept('text', people), await accept('text', people)];
    await record(read.tag, 'acked', [0, 1]);
    await record(read.tag, 'read', [1], now + 2 * MINUTE_MS);
    // The end is in the second of these.
    for (const index of [0, 1]) await record(atOnce.tag, 'acked', [index], now);
    const ends = (await told()).filter(({ type }) => type === 'send.finished');
    expect(ends).to.have.length(2);
    for (const send of [read, atOnce]) await forget(send);
    for (const end of ends) expect(await find(end.id)).to.deep.equal(end);
  });

  it('is found among the changes of a long list, which go on for hours', async () => {
    const now = Date.now();
    const slow = await accept('text', PEOPLE, now - 8 * 3_600_000);
    for (const [index, hours] of [7, 4].entries()) {
      await record(slow.tag, 'acked', [index], now - hours * 3_600_000);
      await told();
    }
    await record(slow.tag, 'delivered', [0]);
    await cancelSend(space.store, address, slow.messageId);
    const { redis } = space.store;
    const sent = (await told()).find(({ type }) => type === 'message.sent')!;
    const finished = (await told()).find(({ type }) => type === 'send.finished')!;
    // Before these lies what happened to others, and more of it than is looked through.
    const { eventLog } = workspaceKeys(space.store.space, 'main');
    const rows = await redis.xrangeBuffer(eventLog, '-', '+');
    await redis.del(eventLog);
    const filler = redis.pipeline();
    for (let n = 0; n < 10_001; n++) filler.xadd(eventLog, `${now - 7_000_000}-${n + 1}`, 'e', OF_OTHERS);
    for (const [n, [, [, value]]] of rows.entries()) {
      filler.xadd(eventLog, `${n === 0 ? now - 6_000_000 : now}-${n + 1}`, 'e', value!);
    }
    await filler.exec();
    expect(await find(sent.id)).to.deep.equal(sent);
    expect(await find(finished.id)).to.deep.equal(finished);
  });

  it('costs little to look for among the changes of hundreds of the longest lists', async () => {
    const { messageId } = await accept(
      'text',
      Array.from({ length: 10_000 }, (_, i) => String(447_700_000_000 + i)),
    );
    await cancelSend(space.store, address, messageId);
    for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
    const { eventLog } = workspaceKeys(space.store.space, 'main');
    const [[, [field, entry]]] = (await space.store.redis.xrangeBuffer(eventLog, '-', '+')) as [
      [Buffer, [Buffer, Buffer]],
    ];
    const pipeline = space.store.redis.pipeline();
    for (let list = 1; list < 400; list++) pipeline.xadd(eventLog, '*', field, entry);
    await pipeline.exec();
    const startedAt = process.cpuUsage();
    expect(await find(`evt_main_${Date.now()}_connected`)).to.equal(undefined);
    const { user } = process.cpuUsage(startedAt);
    expect(user / 1_000, 'ms').to.be.below(250);
  });

  it('is said to be gone when the log does not go back to its time', async () => {
    const { tag } = await accept('text', PEOPLE);
    await record(tag, 'acked');
    const sent = (await told()).find(({ type }) => type === 'message.sent')!;
    const { eventLog, eventMarks } = workspaceKeys(space.store.space, 'main');
    await space.store.redis.del(eventLog);
    expect(await find(sent.id)).to.equal(undefined);
    await space.store.redis.hset(eventMarks, 'goneTo', '9999999999999-0');
    expect(await find(sent.id)).to.deep.equal({ oldest: { entry: '9999999999999-0', offset: 0 } });
    expect(await find(sent.id.replace('_sent', '_read'))).to.equal(undefined);
  });

  it('is not looked for behind an entry of the next version, which it says', async () => {
    const { eventLog } = workspaceKeys(space.store.space, 'main');
    await space.store.redis.xadd(eventLog, '*', 'e', Buffer.from([255, ...OF_OTHERS.subarray(1)]));
    const name = await find(`evt_main_${Date.now()}_connected`).catch((thrown: Error) => thrown.name);
    expect(name).to.equal('UnknownVersionError');
  });
});
