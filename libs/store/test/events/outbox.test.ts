import { LOG_START, type LogPlace } from '@gateway/contracts/events/cursor';
import { type ChangeData, EVENT_TYPES, type GatewayEvent } from '@gateway/contracts/events/events';
import { parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { ownErrorCode, recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { shardOf } from '@gateway/contracts/shards';
import type { Store } from '@gateway/store/core/store';
import { recordObserved } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { retireKeys } from '@gateway/store/devices/keys/device-keys';
import { openEvents } from '@gateway/store/events/open-events';
import { closeUnwanted } from '@gateway/store/events/opening/close-events';
import { type LogPart, readLog } from '@gateway/store/events/read-log';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import type { EventFilter } from '@gateway/store/events/render-events';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, expireSend, recordResults, recordResultsOfSends } from '@gateway/store/sends/change-send';
import { keysOfSend } from '@gateway/store/sends/keys-of-send';
import { readRecipients } from '@gateway/store/sends/read-send';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { expect } from 'chai';
import { readTold } from '../support/read-told.js';
import { useOwnedDevice } from '../support/use-owned-device.js';

const PEOPLE = Array.from({ length: 40 }, (_, i) => `4915112345${String(600 + i)}`);
const ALL = EVENT_TYPES;

describe('the events of a workspace', () => {
  const { address, space, ownership } = useOwnedDevice();
  const outbox = { workspace: address.workspace, shard: shardOf(address) };
  const redis = () => space.store.redis;
  /** How many of them there are, in whatever slots. */
  const exist = async (...keys: string[]) =>
    (await Promise.all(keys.map((key) => redis().exists(key)))).filter((found) => found === 1).length;
  const outboxKey = () => shardKeys(space.store.space, outbox.shard).outbox(outbox.workspace);
  beforeEach(async () => {
    await ensureDevice(space.store, address);
    await openEvents(space.store, 'main');
  });

  async function accept(kind: 'text' | 'otp' = 'text', recipients = PEOPLE) {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, recipients, owner: 't', requestId: 'order-1' },
      ...{ nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    return { messageId, tag: parseMessageId(messageId)!.tag };
  }
  type News = Parameters<typeof recordResults>[2]['events'];
  const record = (tag: SendTag, events: News) =>
    recordResults(space.store, ownership, { tag, nowMs: Date.now(), events });
  const told = (filter?: EventFilter, after?: LogPlace) => readTold(space.store, filter, after);
  const diesBefore =
    (step: string): Store['run'] =>
    (name, ...rest) =>
      name === step ? Promise.reject(new Error('it died')) : space.store.run(name, ...rest);
  const rowsOf = (events: readonly GatewayEvent[]) =>
    events.filter(({ type }) => type === 'messages.updated').flatMap(({ data }) => data.changes as ChangeData[]);

  it('tell each change of a recipient once, in order, and in the end what is stored', async () => {
    const { tag, messageId } = await accept();
    const acked = (recipient: number) => ({ recipient, part: 0, event: 'acked' as const });
    const news: News = [acked(0), acked(1), { recipient: 2, part: 0, event: 'failed', errorCode: 463 }];
    for (let times = 0; times < 2; times++) await record(tag, news);
    await record(tag, [{ recipient: 0, part: 0, event: 'read' }]);
    await record(tag, [{ recipient: 0, part: 0, event: 'delivered' }]);
    for (let times = 0; times < 2; times++) await cancelSend(space.store, address, messageId);
    const events = await told({});
    const last = new Map<number, string>();
    for (const { index, status } of rowsOf(events)) last.set(index, status);
    const stored = await readRecipients(space.store, address, tag, { from: 0, limit: 100 });
    expect([...last].sort(([a], [b]) => a - b)).to.deep.equal(stored.map(({ index, status }) => [index, status]));
    expect(new Set(rowsOf(events).map(({ id }) => id)).size).to.equal(PEOPLE.length + 1);
    const shown = rowsOf(events).slice(0, 4);
    expect(shown.map(({ index, status, error }) => [index, status, error])).to.deep.equal([
      [0, 'sent', null],
      [1, 'sent', null],
      [2, 'failed', 'network_463'],
      [0, 'read', null],
    ]);
    expect(shown[0]).to.include({ requestId: 'order-1', to: PEOPLE[0], messageId });
    const finished = events.filter(({ type }) => type === 'send.finished');
    expect(finished).to.have.length(1);
    expect(finished[0]!.id).to.equal(`evt_${messageId}_finished`);
    expect(finished[0]!.data.counts).to.include({ sent: 1, read: 1, failed: 1, cancelled: PEOPLE.length - 3 });
  });

  it('tell what one step changed in several sends, of each its own', async () => {
    const sends = [await accept(), await accept('text', [PEOPLE[0]!]), await accept('text', [PEOPLE[1]!])];
    const news = sends.map(({ tag }, recipient) => ({
      ...{ tag, events: [{ recipient: recipient === 0 ? 7 : 0, part: 0, event: 'acked' as const }] },
    }));
    await recordResultsOfSends(space.store, ownership, { nowMs: Date.now(), sends: news });
    const events = await told({});
    expect(rowsOf(events).map(({ messageId, index, to }) => [messageId, index, to])).to.deep.equal([
      [sends[0]!.messageId, 7, PEOPLE[7]],
      [sends[1]!.messageId, 0, PEOPLE[0]],
      [sends[2]!.messageId, 0, PEOPLE[1]],
    ]);
    const finished = events.filter(({ type }) => type === 'send.finished').map(({ data }) => data.messageId);
    expect(finished).to.deep.equal([sends[1]!.messageId, sends[2]!.messageId]);
  });

  it('tell thousands of changes of one step, each once', async () => {
    const many = Array.from({ length: 2_500 }, (_, i) => String(4915100000000 + i));
    const { tag } = await accept('text', many);
    await record(
      tag,
      many.map((_, recipient) => ({ recipient, part: 0, event: 'acked' })),
    );
    const rows = rowsOf(await told({}));
    expect(rows.map(({ index, to, status }) => `${index} ${to} ${status}`)).to.deep.equal(
      many.map((person, index) => `${index} ${person} sent`),
    );
  });

  it('tell one-time passwords apart, and what expires', async () => {
    const { tag } = await accept('otp', [PEOPLE[0]!]);
    await record(tag, [{ recipient: 0, part: 0, event: 'acked' }]);
    const { messageId } = await accept('text', PEOPLE.slice(0, 3));
    await expireSend(space.store, address, messageId, Date.now() + 120_000);
    const events = await told();
    expect(events.map(({ type }) => type)).to.deep.equal([
      'otp.sent',
      ...['message.expired', 'message.expired', 'message.expired', 'messages.updated', 'send.finished'],
    ]);
    expect(await told({ types: ['otp.sent'] })).to.have.length(1);
    expect(await told({ types: ALL, devices: ['another'] })).to.deep.equal([]);
  });

  it('tell of those who expire what they waited for, as their messages show it', async () => {
    const { messageId, tag } = await accept('text', PEOPLE.slice(0, 5));
    const waits = [undefined, 'new_contacts_held', 'awaiting_history', 'new_contacts_held', undefined] as const;
    const held = waits.flatMap((error, recipient) =>
      error ? [{ recipient, part: 0, event: 'held' as const, errorCode: ownErrorCode(error) }] : [],
    );
    await record(tag, held);
    await expireSend(space.store, address, messageId, Date.now() + 120_000);
    const rows = rowsOf(await told({})).sort((one, other) => one.index - other.index);
    expect(rows.map(({ status, error }) => [status, error])).to.deep.equal(
      waits.map((error) => ['expired', error ?? null]),
    );
    const stored = await readRecipients(space.store, address, tag, { from: 0, limit: waits.length });
    expect(rows.map(({ error }) => error)).to.deep.equal(
      stored.map(({ errorCode }) => recipientErrorName(errorCode) ?? null),
    );
  });

  it('tell what others may know of a device, once, and no hand-over', async () => {
    const observe = (observed: Parameters<typeof recordObserved>[2]['observed']) =>
      recordObserved(space.store, ownership, { actedOn: undefined, observed });
    const phone = '447700900123';
    await observe({ status: 'connecting', reason: 'restoring' });
    for (let times = 0; times < 2; times++) await observe({ status: 'connected', phone, name: 'Ada' });
    await observe({ status: 'connecting', reason: 'restoring' });
    await observe({ status: 'connected', phone, name: 'Ada', profilePic: 'x' });
    await observe({ status: 'connecting', reason: 'network', notBeforeMs: Date.now() + 5_000 });
    await observe({ status: 'connected', phone, name: 'Ada' });
    await observe({ status: 'disconnected', reason: 'logged_out' });
    const lock = { kind: 'reach_out_time_lock', sinceMs: 1, untilMs: Date.now() + 60_000 } as const;
    for (let times = 0; times < 2; times++) await recordRestriction(space.store, ownership, lock);
    for (let times = 0; times < 2; times++) await recordRestriction(space.store, ownership, undefined);
    const events = await told();
    expect(events[3]!.data).to.include({ reason: 'logged_out', phone });
    expect(events.map(({ type }) => type)).to.deep.equal([
      ...['device.connected', 'device.interrupted', 'device.connected', 'device.disconnected'],
      ...['device.restricted', 'device.unrestricted'],
    ]);
  });

  it('tell that a new link takes a device away, and that it is back, also with the same account', async () => {
    const observe = (observed: Parameters<typeof recordObserved>[2]['observed']) =>
      recordObserved(space.store, ownership, { actedOn: undefined, observed });
    const connected = { status: 'connected', phone: '447700900123', name: 'Ada' } as const;
    for (const reason of ['linking', 'scan_again'] as const) await observe({ status: 'connecting', reason });
    await observe(connected);
    for (const reason of ['linking', 'scan_again', 'linking', 'restoring'] as const)
      await observe({ status: 'connecting', reason });
    await observe(connected);
    const events = await told();
    expect(events.map(({ type, data }) => [type, data.reason])).to.deep.equal([
      ['device.connected', undefined],
      ['device.interrupted', 'linking'],
      ['device.connected', undefined],
    ]);
  });

  it('tell that a restriction is over with the account that it was of', async () => {
    await recordRestriction(space.store, ownership, { kind: 'new_chat_cap', sinceMs: 1 });
    for (let times = 0; times < 2; times++) await retireKeys(space.store, ownership, { quarantine: false });
    expect((await told()).map(({ type }) => type)).to.deep.equal(['device.restricted', 'device.unrestricted']);
  });

  it('are read in parts that do not hang on how many changes an entry has', async () => {
    const many = Array.from({ length: 4_000 }, (_, i) => String(4915100000000 + i));
    for (let list = 0; list < 5; list++) await cancelSend(space.store, address, (await accept('text', many)).messageId);
    await told({ types: ['otp.sent'] });
    const found = await readLog(space.store, 'main', LOG_START, { limit: 100 });
    expect([(found as LogPart).entries.length, (found as LogPart).isLast]).to.deep.equal([3, false]);
  });

  it('are not kept where no one wants them', async () => {
    await closeUnwanted(space.store, 'main', Number.MAX_SAFE_INTEGER);
    const { tag, messageId } = await accept();
    await record(tag, [{ recipient: 0, part: 0, event: 'acked' }]);
    await cancelSend(space.store, address, messageId);
    await addOptOuts(space.store, 'main', { numbers: PEOPLE, source: 'api', atMs: 1_000 });
    expect(await exist(outboxKey(), workspaceKeys(space.store.space, 'main').eventLog)).to.equal(0);
  });

  it('come into the log once, however many fetch them and wherever one dies', async () => {
    const { tag } = await accept();
    for (const recipient of PEOPLE.keys()) await record(tag, [{ recipient, part: 0, event: 'acked' }]);
    const client = redis();
    const dies = relayOutbox({ ...space.store, run: diesBefore('trim-outbox') }, outbox);
    expect(await dies.catch((error: Error) => error.message)).to.equal('it died');
    expect(await client.xlen(outboxKey())).to.equal(PEOPLE.length);
    const race = async () => {
      const appended = await Promise.all(Array.from({ length: 4 }, () => relayOutbox(space.store, outbox)));
      return appended.reduce((sum, count) => sum + count, 0);
    };
    expect(await race(), 'those are there already').to.equal(0);
    for (const recipient of PEOPLE.keys()) await record(tag, [{ recipient, part: 0, event: 'delivered' }]);
    expect(await race()).to.equal(PEOPLE.length);
    expect(await client.xlen(outboxKey())).to.equal(0);
    expect(rowsOf(await told({})).map(({ index, status }) => `${index} ${status}`)).to.deep.equal([
      ...[...PEOPLE.keys()].map((index) => `${index} sent`),
      ...[...PEOPLE.keys()].map((index) => `${index} delivered`),
    ]);
  });

  it('come into the log also where one has read more of them than another, who dies, has appended', async () => {
    const { tag } = await accept();
    const happen = (recipient: number) => record(tag, [{ recipient, part: 0, event: 'acked' }]);
    const client = redis();
    /** @param whenRead between what is read of the outbox and what is done with it. */
    const relay = (whenRead: () => Promise<unknown>, run = space.store.run) => {
      let first: Promise<unknown> | undefined;
      const xrangeBuffer = async (...given: Parameters<typeof client.xrangeBuffer>) => {
        const found = await client.xrangeBuffer(...given);
        first ??= whenRead();
        await first;
        return found;
      };
      const redis = Object.assign(Object.create(client), { xrangeBuffer });
      return relayOutbox({ ...space.store, redis, run }, outbox);
    };
    await happen(0);
    let slow: Promise<number> | undefined;
    let goOn = () => {};
    const letSlowRead = async () => {
      await happen(1);
      await new Promise<void>((hasRead) => {
        slow = relay(() => {
          hasRead();
          return new Promise<void>((died) => {
            goOn = died;
          });
        });
      });
    };
    const dies = relay(letSlowRead, diesBefore('trim-outbox'));
    expect(await dies.catch((error: Error) => error.message)).to.equal('it died');
    goOn();
    expect(await slow).to.equal(1);
    expect(rowsOf(await told()).map(({ index }) => index)).to.deep.equal([0, 1]);
  });

  it('stay in the outbox until replicas have what the log got', async () => {
    const { tag } = await accept();
    await record(tag, [{ recipient: 0, part: 0, event: 'acked' }]);
    const { eventLog } = workspaceKeys(space.store.space, 'main');
    const confirmWrites = async (key: string) => {
      if (key === eventLog) throw new Error(`no replica has ${key}`);
    };
    const relayed = relayOutbox({ ...space.store, confirmWrites }, outbox);
    expect(await relayed.catch((error: Error) => error.message)).to.equal(`no replica has ${eventLog}`);
    expect([await redis().xlen(outboxKey()), await redis().xlen(eventLog)]).to.deep.equal([1, 1]);
    expect(await relayOutbox(space.store, outbox), 'it is there already').to.equal(0);
    expect([await redis().xlen(outboxKey()), await redis().xlen(eventLog)]).to.deep.equal([0, 1]);
  });

  it('are told after Redis went back where they are written, and not in the log', async () => {
    const { tag } = await accept();
    const ahead = `${Date.now() + 60_000}-0`;
    await redis().hset(workspaceKeys(space.store.space, 'main').eventMarks, `${outbox.shard}`, ahead);
    await record(tag, [{ recipient: 3, part: 0, event: 'acked' }]);
    expect(rowsOf(await told()).map(({ index, status }) => `${index} ${status}`)).to.deep.equal(['3 sent']);
  });

  it('of which there are too many for an outbox are a gap, which is told once', async () => {
    await redis().set(`${outboxKey()}:missing`, 7);
    for (let times = 0; times < 2; times++) await relayOutbox(space.store, outbox);
    await redis().set(`${outboxKey()}:missing`, 9);
    await relayOutbox(space.store, outbox);
    expect(await told({ types: ['otp.sent'], devices: ['any'] })).to.have.length(2);
    expect((await told()).map(({ type, data }) => [type, data])).to.deep.equal([
      ['events.gap', { missing: 7 }],
      ['events.gap', { missing: 2 }],
    ]);
  });

  it('that have left the log are not passed over in silence', async () => {
    const { tag } = await accept();
    await record(tag, [{ recipient: 0, part: 0, event: 'acked' }]);
    await told();
    const first = await readLog(space.store, 'main', LOG_START, { limit: 1 });
    const { eventLog, eventMarks } = workspaceKeys(space.store.space, 'main');
    await redis().hset(eventMarks, 'goneTo', '9999999999999-0');
    const after = await readLog(
      space.store,
      'main',
      { entry: (first as LogPart).entries[0]!.id, offset: 0 },
      { limit: 1 },
    );
    expect(after).to.deep.equal({ oldest: { entry: '9999999999999-0', offset: 0 } });
    expect(await redis().xlen(eventLog)).to.equal(1);
  });

  it('of a send that was forgotten before its time are told as missing', async () => {
    const [kept, forgotten] = [await accept('text', PEOPLE.slice(0, 2)), await accept('text', PEOPLE.slice(0, 3))];
    for (const { messageId } of [kept, forgotten]) await cancelSend(space.store, address, messageId);
    await redis().del(keysOfSend(space.store, address, forgotten.tag).record);
    const events = await told({ types: ['messages.updated', 'send.finished'] });
    expect(events.map(({ type, data }) => [type, data.missing])).to.deep.equal([
      ...[
        ['messages.updated', undefined],
        ['send.finished', undefined],
      ],
      ['events.gap', 4],
    ]);
    expect((await told({ types: ['send.finished'] })).at(-1)!.data.missing).to.equal(1);
    expect(await told({ types: ['message.received'] })).to.deep.equal([]);
  });

  it('hold no number of a recipient and no text', async () => {
    const { tag, messageId } = await accept();
    await record(tag, [{ recipient: 0, part: 0, event: 'acked' }]);
    await cancelSend(space.store, address, messageId);
    await told();
    const { eventLog } = workspaceKeys(space.store.space, 'main');
    const bytes = (await redis().xrangeBuffer(eventLog, '-', '+'))
      .map(([, [, value]]) => value!.toString('latin1'))
      .join();
    for (const secret of ['hello', ...PEOPLE]) expect(bytes).not.to.include(secret);
  });
});
