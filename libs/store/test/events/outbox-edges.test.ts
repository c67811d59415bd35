import {
  EVENT_LOG,
  type EventPart,
  OUTBOX_BYTES,
  OUTBOX_ENTRIES,
  OUTBOX_WEIGHED_EVERY,
  readEntry,
} from '@gateway/contracts/events/entry';
import { parseMessageId } from '@gateway/contracts/ids';
import { eventLogChannel, outboxChannel, sendKeys, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { GatewayError } from '@gateway/runtime/errors';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { cancelLink, recordObserved, requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { openEvents } from '@gateway/store/events/open-events';
import { readLog } from '@gateway/store/events/read-log';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, forgetRecipient, recordResults } from '@gateway/store/sends/change-send';
import { eventually } from '@gateway/testkit/eventually';
import { nameOfStep, type Step, watchSteps } from '@gateway/testkit/redis-servers/watch-steps';
import { expect } from 'chai';
import { useOwnedDevice } from '../support/use-owned-device.js';

const PEOPLE = Array.from({ length: 2_000 }, (_, i) => String(4_915_112_340_000 + i));
const DAY_MS = 86_400_000;

describe('the outbox of a workspace', () => {
  const { address, space, ownership } = useOwnedDevice();
  const outbox = { workspace: 'main', shard: shardOf(address) };
  const redis = () => space.store.redis;
  const key = () => shardKeys(space.store.space, outbox.shard).outbox('main');
  const log = () => workspaceKeys(space.store.space, 'main');
  beforeEach(async () => {
    await ensureDevice(space.store, address);
    await openEvents(space.store, 'main');
  });

  async function accept(recipients: readonly string[], kind: 'text' | 'otp' = 'text') {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, recipients, owner: 't', requestId: 'r' },
      ...{ nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    return { messageId, tag: parseMessageId(messageId)!.tag };
  }
  async function entries() {
    const rows = await redis().xrangeBuffer(key(), '-', '+');
    return rows.map(([, [, value]]) => ({ bytes: value!.length, ...readEntry(value!) }));
  }

  /** Redis takes about 20 for the place in the stream: a device's name of 24 characters is left of 64. */
  it('has few bytes for a change that comes alone, and for the end of a small send', async () => {
    const { tag } = await accept(PEOPLE.slice(0, 1));
    const record = (event: 'acked' | 'read') =>
      recordResults(space.store, ownership, { tag, nowMs: Date.now(), events: [{ recipient: 0, part: 0, event }] });
    await record('acked');
    await record('read');
    const told = await entries();
    expect(told.map(({ tag: of, parts }) => [of, ...parts.map(({ kind }) => kind)])).to.deep.equal([
      [tag, 'changes', 'finished'],
      [tag, 'changes'],
    ]);
    for (const { bytes, device } of told) expect(bytes - device!.length).to.be.at.most(23);
  });
  const partsOf = async (): Promise<EventPart[]> => (await entries()).flatMap(({ parts }) => parts);

  it('is told on while replicas do not confirm what the log got, however much lies there', async () => {
    const confirmWrites = async (key: string) => {
      if (key === log().eventLog) throw new GatewayError({ code: 'not_confirmed', message: 'no replica has it' });
    };
    const relay = async () => {
      const thrown = await relayOutbox({ ...space.store, confirmWrites }, outbox).catch((error: unknown) => error);
      expect(thrown).to.include({ code: 'not_confirmed' });
      return redis().xlen(log().eventLog);
    };
    await cancelSend(space.store, address, (await accept(PEOPLE.slice(0, 1))).messageId);
    const [[, [, entry]]] = (await redis().xrangeBuffer(key(), '-', '+')) as [[Buffer, [Buffer, Buffer]]];
    for (let n = 1; n < 1_200; n++) await redis().xadd(key(), '*', 'e', entry);
    expect([await relay(), await relay(), await relay(), await relay()]).to.deep.equal([500, 1_000, 1_200, 1_200]);
    await relayOutbox(space.store, outbox);
    expect([await redis().xlen(key()), await redis().xlen(log().eventLog)]).to.deep.equal([0, 1_200]);
  });

  it('rings for what comes into an empty one, and not for more', async () => {
    const rung: string[] = [];
    space.clients.subscriber.on('message', (_channel, text) => rung.push(text));
    await space.clients.subscriber.subscribe(outboxChannel(space.store.space));
    const { messageId } = await accept(PEOPLE.slice(0, 2));
    await forgetRecipient(space.store, address, parseMessageId(messageId)!.tag, PEOPLE[0]!);
    await cancelSend(space.store, address, messageId);
    await relayOutbox(space.store, outbox);
    await cancelSend(space.store, address, (await accept(PEOPLE.slice(0, 1))).messageId);
    await redis().publish(outboxChannel(space.store.space), 'all');
    // Of a Cluster, what two nodes publish has no order.
    await eventually(() => rung.includes('all') && rung.length >= 3);
    expect(rung.sort()).to.deep.equal(['all', `main/${outbox.shard}`, `main/${outbox.shard}`]);
  });

  it('rings again for what cannot wait behind what can, and says to both bells what can', async () => {
    const rung: string[] = [];
    const { subscriber } = space.clients;
    subscriber.on('message', (channel, text) => rung.push(`${channel.split(':').at(-1)} ${text}`));
    await subscriber.subscribe(outboxChannel(space.store.space), eventLogChannel(space.store.space));
    const news = async (count: number) =>
      cancelSend(space.store, address, (await accept(PEOPLE.slice(0, count))).messageId);
    const expectBells = async (say: () => Promise<unknown>, expected: string[], why?: string) => {
      rung.length = 0;
      await say();
      await redis().publish(outboxChannel(space.store.space), 'all');
      await redis().publish(eventLogChannel(space.store.space), 'all');
      // Of a Cluster, what two nodes publish has no order.
      await eventually(
        () => rung.filter((bell) => bell.endsWith(' all')).length === 2 && rung.length >= 2 + expected.length,
      );
      expect(rung.filter((bell) => !bell.endsWith(' all')).sort(), why).to.deep.equal(expected);
    };
    const [outboxBell, lists] = [`outbox-bell main/${outbox.shard}`, '/lists'];
    const relay = () => relayOutbox(space.store, outbox);
    await expectBells(() => news(11), [outboxBell + lists]);
    await expectBells(() => news(11), [], 'one for both');
    await expectBells(relay, [`event-bell main${lists}`]);
    await expectBells(() => news(11), [outboxBell + lists]);
    await expectBells(() => news(1), [outboxBell]);
    await expectBells(() => news(1), [], 'it has rung');
    await expectBells(() => news(11), []);
    await expectBells(() => news(1), [outboxBell], 'behind another that can wait');
    await expectBells(relay, ['event-bell main']);
    // What another version has written is brought on as it is.
    await redis().xadd(key(), '*', 'e', Buffer.from([99, ...Array(10).fill(255)]));
    await expectBells(relay, ['event-bell main']);
    expect(await redis().xlen(key())).to.equal(0);
  });

  it('rings for those who read, and makes no log where there is none', async () => {
    const rung: string[] = [];
    space.clients.subscriber.on('message', (_channel, text) => rung.push(text));
    await space.clients.subscriber.subscribe(eventLogChannel(space.store.space));
    const news = async () => cancelSend(space.store, address, (await accept(PEOPLE.slice(0, 1))).messageId);
    await news();
    expect(await relayOutbox(space.store, outbox)).to.equal(1);
    await eventually(() => rung.includes('main'));
    const { eventLog } = log();
    await redis().del(eventLog);
    await news();
    expect(await relayOutbox(space.store, outbox)).to.equal(0);
    expect(await redis().exists(eventLog)).to.equal(0);
  });

  it('has the change of a recipient who is forgotten, and of a linking that ends', async () => {
    const { tag } = await accept(PEOPLE.slice(0, 3));
    await forgetRecipient(space.store, address, tag, PEOPLE[1]!);
    await requestLink(space.store, address, { attemptId: 'att_1', method: 'qrCode', forceNew: false });
    await cancelLink(space.store, address, { attemptId: 'att_1', reason: 'link_timeout' });
    const [forgotten, ended] = await partsOf();
    expect(forgotten).to.deep.equal({
      kind: 'changes',
      changes: [{ index: 1, status: 'cancelled', errorCode: 0 }],
    });
    expect(ended).to.include({ kind: 'device', status: 'disconnected', reason: 'link_timeout' });
  });

  it('has a bit for each of many who change alike, from the first of them on', async () => {
    const { tag, messageId } = await accept(PEOPLE);
    const acked = PEOPLE.slice(0, -2).map((_, recipient) => ({ recipient, part: 0, event: 'acked' as const }));
    await recordResults(space.store, ownership, { tag, nowMs: Date.now(), events: acked });
    await cancelSend(space.store, address, messageId);
    const [first, second] = await entries();
    const changed = (parts: EventPart[]) => parts.flatMap((part) => (part.kind === 'changes' ? part.changes : []));
    expect(changed(first!.parts).map(({ index }) => index)).to.deep.equal(acked.map(({ recipient }) => recipient));
    expect(changed(second!.parts).map(({ index }) => index)).to.deep.equal([1_998, 1_999]);
    expect(second!.bytes).to.be.below(80);
  });

  it('says what is told at once: small sends, and one-time passwords', async () => {
    for (const recipients of [PEOPLE.slice(0, 10), PEOPLE.slice(0, 11)]) {
      await cancelSend(space.store, address, (await accept(recipients)).messageId);
    }
    await cancelSend(space.store, address, (await accept(PEOPLE.slice(0, 1), 'otp')).messageId);
    expect((await entries()).map((entry) => entry.class)).to.deep.equal(['prompt', 'lists', 'prompt']);
  });

  it('keeps a send for as long as the log tells of it', async () => {
    const { messageId, tag } = await accept(PEOPLE.slice(0, 3));
    await cancelSend(space.store, address, messageId);
    const [record] = await redis().keys(`${space.prefix}:*:s:${tag}`);
    expect(await redis().pttl(record!)).to.be.above(7.9 * DAY_MS);
  });

  it('keeps a send as long again from a late receipt on, and not what it says', async () => {
    const { tag } = await accept(PEOPLE.slice(0, 1));
    const record = (event: 'acked' | 'read') =>
      recordResults(space.store, ownership, { tag, nowMs: Date.now(), events: [{ recipient: 0, part: 0, event }] });
    await record('acked');
    const { record: kept, content } = sendKeys(space.store.space, address, tag);
    // As they are when all but a minute of their time has passed.
    for (const each of [kept, content]) expect(await redis().pexpire(each, 60_000), each).to.equal(1);
    await record('read');
    expect(await redis().pttl(kept)).to.be.above(7.9 * DAY_MS);
    expect(await redis().pttl(content)).to.be.within(1, 60_000);
  });

  it('cuts words that a phone chose', async () => {
    const name = 'x'.repeat(300);
    await recordObserved(space.store, ownership, {
      actedOn: undefined,
      observed: { status: 'connected', phone: '447700900123', name },
    });
    expect((await partsOf())[0]).to.include({ status: 'connected', name: name.slice(0, 255) });
  });

  it('costs who writes no command', async () => {
    const watched = await watchSteps(masterOfKey(redis(), key()));
    const isOurs = (step: Step) => step.flat().some((word) => word.includes(space.prefix));
    const stepsOfASend = async () => {
      const before = watched.steps.length;
      const { tag } = await accept(PEOPLE.slice(0, 2));
      for (const event of ['acked', 'delivered', 'read'] as const)
        await recordResults(space.store, ownership, {
          ...{ tag, nowMs: Date.now() },
          events: [0, 1].map((recipient) => ({ recipient, part: 0, event })),
        });
      await cancelSend(space.store, address, (await accept(PEOPLE.slice(0, 3))).messageId);
      await watched.catchUp();
      return watched.steps.slice(before).filter(isOurs).map(nameOfStep);
    };
    try {
      const withEvents = await stepsOfASend();
      expect((await entries()).length, 'entries').to.be.above(2);
      await redis().del(key());
      await watched.catchUp();
      expect(await stepsOfASend()).to.deep.equal(withEvents);
      expect(withEvents).to.include('record-results').and.include('cancel-send');
    } finally {
      watched.close();
    }
  });

  it('takes no more than there is room for, and counts the changes of the rest', async () => {
    const fill = `for i = 1, ${OUTBOX_ENTRIES} do redis.call('XADD', KEYS[1], '*', 'e', '') end`;
    await redis().eval(fill, 1, key());
    await cancelSend(space.store, address, (await accept(PEOPLE.slice(0, 3))).messageId);
    expect(await redis().xlen(key())).to.equal(OUTBOX_ENTRIES);
    // Three recipients, and the end of the send.
    expect(await redis().get(`${key()}:missing`)).to.equal('4');
  });

  it('takes no more bytes than there is room for: one entry of a long list takes as much as a hundred others', async () => {
    const entry = 'x'.repeat(1_500);
    const fill = `for i = 1, ${OUTBOX_WEIGHED_EVERY} do redis.call('XADD', KEYS[1], '*', 'e', ARGV[1]) end`;
    const bytes = async () => Number(await redis().call('MEMORY', 'USAGE', key(), 'SAMPLES', '0'));
    while ((await bytes()) < OUTBOX_BYTES) await redis().eval(fill, 1, key(), entry);
    const entries = await redis().xlen(key());
    const cancel = async () => cancelSend(space.store, address, (await accept(PEOPLE.slice(0, 3))).messageId);
    await cancel();
    await cancel();
    expect([await redis().xlen(key()), await redis().get(`${key()}:missing`)]).to.deep.equal([entries, '8']);
    expect(await bytes()).to.be.below(OUTBOX_BYTES + 2 * OUTBOX_WEIGHED_EVERY * entry.length);
    await redis().xtrim(key(), 'MAXLEN', 1_000);
    await cancel();
    expect([await redis().xlen(key()), await redis().get(`${key()}:missing`)]).to.deep.equal([1_001, '8']);
  });

  it('makes its log forget what is older than a week, and say so', async () => {
    const { eventLog, eventMarks } = log();
    await redis().del(eventLog);
    await redis().xadd(eventLog, '1000-0', 'e', '');
    await cancelSend(space.store, address, (await accept(PEOPLE.slice(0, 1))).messageId);
    await relayOutbox(space.store, outbox);
    expect(await redis().xlen(eventLog)).to.equal(1);
    expect(await redis().hget(eventMarks, 'goneTo')).to.equal('1000-0');
  });

  it('says of nothing that is in its log that it is gone', async () => {
    const { eventLog, eventMarks } = log();
    await redis().del(eventLog);
    // An entry in each millisecond: one of them is of the very one from which on all is kept.
    const fill = `for ms = 0, 5000 do redis.call('XADD', KEYS[1], string.format('%.0f-0', ARGV[1] + ms), 'e', '') end`;
    await redis().eval(fill, 1, eventLog, Date.now() - EVENT_LOG.keptMs - 1_000);
    await cancelSend(space.store, address, (await accept(PEOPLE.slice(0, 1))).messageId);
    await relayOutbox(space.store, outbox);
    const [[oldest] = ['']] = await redis().xrange(eventLog, '-', '+', 'COUNT', 1);
    const gone = (await redis().hget(eventMarks, 'goneTo'))!;
    expect(Number.parseInt(gone, 10)).to.equal(Number.parseInt(oldest, 10) - 1);
  });

  it('begins empty, and a log that is there is taken over where it ends', async () => {
    const { eventLog, eventMarks } = log();
    expect([await redis().xlen(key()), await redis().xlen(eventLog)]).to.deep.equal([0, 0]);
    const last = await redis().xadd(eventLog, '*', 'e', '');
    await redis().hdel(eventMarks, 'isOpen', 'goneTo');
    await openEvents(space.store, 'main');
    const entry = { entry: last!, offset: 0 };
    const nothing = { entries: [], changes: 0, from: last, isLast: true };
    expect(await readLog(space.store, 'main', entry, { limit: 1 })).to.deep.equal(nothing);
  });
});
