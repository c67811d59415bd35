import type { AckOutcome } from '@gateway/messenger/codes/ack-outcomes';
import { forgetCached } from '@gateway/messenger/lookup/session-caches';
import { RecipientError, SessionEndedError, UnknownLimitsError } from '@gateway/messenger/session/session-errors';
import { defer } from '@gateway/runtime/deferred';
import { eventually } from '@gateway/testkit/eventually';
import { MessageRetryManager } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { makeNumbers, makePlatformId, type TestSession, useSessions } from './support/session-fixture.js';

describe('sending a text', () => {
  const sessions = useSessions();
  let test: TestSession & { phone: string };

  before(async () => {
    test = await sessions.openLinked();
  });

  async function send(to: string, platformId = makePlatformId(), by = test): Promise<AckOutcome> {
    const { ack } = await by.session.send({ to, platformId, content: { kind: 'text', text: 'hello' } });
    return ack;
  }

  it('reaches a phone that was never written to, with the id that was chosen', async () => {
    const [to] = makeNumbers(1) as [string];
    const platformId = makePlatformId();
    const sentAtMs = Date.now();
    const outcome = await send(to, platformId);
    expect(outcome.kind).to.equal('accepted');
    expect('atMs' in outcome && outcome.atMs).to.be.within(sentAtMs, Date.now());
    const [shown] = await eventually(async () => atLeast(1, await sessions.messagesOf(to)));
    expect(shown).to.include({ id: platformId, text: 'hello', from: test.phone, shown: 1 });
  });

  it('is not kept in the memory of the library, which has no bound in bytes', async () => {
    const { addRecentMessage } = MessageRetryManager.prototype;
    let kept = 0;
    MessageRetryManager.prototype.addRecentMessage = () => void kept++;
    try {
      await send(makeNumbers(1)[0]!);
      expect(kept).to.equal(0);
    } finally {
      MessageRetryManager.prototype.addRecentMessage = addRecentMessage;
    }
  });

  it('waits for no key store between messages, and tells no answer before the keys are stored', async () => {
    const contacts = makeNumbers(3);
    await Promise.all(contacts.map((to) => send(to)));
    const [stored, answered] = [defer<void>(), [] as string[]];
    test.keyStore.beforeCommit = () => stored.promise;
    try {
      const sent = contacts.map((to) => ({ to, platformId: makePlatformId() }));
      const content = { kind: 'text' as const, text: 'again' };
      const acks = sent.map(async (message) => (await test.session.send({ ...message, content })).ack);
      const outcomes = acks.map(async (ack) => answered.push((await ack).kind));
      for (const { to, platformId } of sent) {
        await eventually(async () => (await sessions.messagesOf(to)).some(({ id }) => id === platformId));
      }
      expect(answered).to.deep.equal([]);
      stored.resolve();
      await Promise.all(outcomes);
      expect(answered).to.deep.equal(['accepted', 'accepted', 'accepted']);
    } finally {
      stored.resolve();
      test.keyStore.beforeCommit = () => {};
    }
  });

  it('reports delivery and reading, once the phone has done both', async () => {
    const [to] = makeNumbers(1) as [string];
    const platformId = makePlatformId();
    await send(to, platformId);
    const kinds = () =>
      test.reports.flatMap((report) =>
        report.event === 'receipt' && report.value.platformIds.includes(platformId) ? [report.value.kind] : [],
      );
    await eventually(() => kinds().includes('read'));
    expect(kinds()).to.deep.equal(['delivered', 'read']);
  });

  it('hears a receipt again when it was not written down the first time', async () => {
    const { keyStore } = await sessions.link();
    const heard: string[] = [];
    const dying = await sessions.open(keyStore);
    Object.assign(dying.handlers, {
      receipt({ kind }: { kind: string }) {
        heard.push(`first ${kind}`);
        return kind === 'delivered' ? Promise.resolve() : new Promise(() => {});
      },
    });
    await dying.next('open');
    await dying.session.historyTaken;
    const [to] = makeNumbers(1) as [string];
    const platformId = makePlatformId();
    await send(to, platformId, dying as typeof test);
    await eventually(() => heard.includes('first read'));
    await dying.session.close();
    const next = await sessions.open(keyStore);
    const { kind, platformIds } = await next.next('receipt');
    expect({ kind, platformIds }).to.deep.equal({ kind: 'read', platformIds: [platformId] });
    expect(heard).to.deep.equal(['first delivered', 'first read']);
  });

  it('issues privacy tokens to the contacts of a moment in one query, and once to each', async () => {
    const contacts = makeNumbers(5);
    const tokens = async () => (await sessions.admin<{ privacyTokens: number }>('GET', 'counters')).privacyTokens;
    const countQueries = async () => (await sessions.admin<{ iqs: number }>('GET', 'counters')).iqs;
    const noted = () => [...test.keyStore.keys].filter(([, value]) => Buffer.from(value).includes('senderTimestamp'));
    await test.session.lookUp(contacts);
    await eventually(() => test.options.caches.tokensToIssue.size === 0);
    const before = { tokens: await tokens(), queries: await countQueries(), noted: noted().length };
    await Promise.all(contacts.map((to) => send(to)));
    await eventually(() => noted().length === before.noted + 5);
    expect(await tokens()).to.equal(before.tokens + 5);
    expect(await countQueries(), 'one query for all').to.equal(before.queries + 1);
    await Promise.all(contacts.map((to) => send(to)));
    await test.session.lookUp(makeNumbers(1));
    expect(await tokens(), 'no one else gets a token').to.equal(before.tokens + 5);
  });

  it('writes nothing down of a token to a person who is forgotten while it is issued', async () => {
    const [forgotten, kept] = makeNumbers(2) as [string, string];
    await Promise.all([send(forgotten), send(kept)]);
    const [lid, other] = (await Promise.all([forgotten, kept].map((to) => test.session.hiddenIdOf(to)))) as [
      string,
      string,
    ];
    forgetCached(test.options.caches, new Set([forgotten, lid.replace('@lid', '')]));
    await eventually(() => test.keyStore.contacts.has(other));
    expect([...test.keyStore.contacts]).to.not.include(lid);
    expect([...test.keyStore.keys.keys()].filter((key) => key.startsWith('tctoken'))).to.not.include(`tctoken/${lid}`);
  });

  it('issues no privacy token to whom the network refused a message', async () => {
    const [refused, taken] = makeNumbers(2) as [string, string];
    sessions.fault('message', { ackError: 463 }, { match: { recipient: refused } });
    expect((await send(refused)).kind).to.equal('restricted');
    expect([...(await test.session.findAcquainted([refused]))], 'still a stranger').to.deep.equal([]);
    await send(taken);
    await eventually(async () => (await test.session.findAcquainted([refused, taken])).size === 1);
    const noted = () => [...test.keyStore.keys].filter(([, value]) => Buffer.from(value).includes('senderTimestamp'));
    await eventually(() => noted().length > 0);
    expect([...(await test.session.findAcquainted([refused]))]).to.deep.equal([]);
  });

  it('shows one message when the same id is sent again', async () => {
    const [to] = makeNumbers(1) as [string];
    const platformId = makePlatformId();
    await send(to, platformId);
    await send(to, platformId);
    const [shown] = await eventually(async () =>
      atLeast(
        1,
        (await sessions.messagesOf(to)).filter(({ arrivals }) => arrivals === 2),
      ),
    );
    expect(shown).to.include({ shown: 1 });
  });

  it("takes the account's own number for a recipient like any other", async () => {
    expect((await send(test.phone)).kind).to.equal('accepted');
  });

  it('rejects, and writes nothing, when the number is not on the messenger', async () => {
    const [to] = makeNumbers(1) as [string];
    await sessions.admin('PUT', `phones/${to}`, { exists: false });
    const error = await caught(send(to));
    expect(error).to.be.instanceOf(RecipientError).with.property('code', 'not_on_messenger');
  });

  it('rejects when the recipient cannot be found out about', async () => {
    const [to] = makeNumbers(1) as [string];
    sessions.fault('iq', { error: 503 }, { match: { xmlns: 'usync' } });
    const error = await caught(send(to));
    expect(error).to.be.instanceOf(RecipientError).with.property('code', 'look_up_failed');
    expect((error as RecipientError).fields).to.deep.equal({ networkCode: 503 });
  });

  for (const [code, kind, attempts] of [
    // It can mean the address: the other one is tried, once.
    [400, 'refused', 2],
    [406, 'refused', 1],
    [429, 'retryLater', 1],
    [503, 'retryLater', 1],
  ] as const) {
    it(`reads ack error ${code} as ${kind}`, async () => {
      const [to] = makeNumbers(1) as [string];
      sessions.fault('message', { ackError: code }, { count: attempts });
      expect(await send(to)).to.deep.equal({ kind, code });
    });
  }

  it('knows a contact from the first accepted message on, and not from a lookup or a refusal', async () => {
    const [to, other, refused] = makeNumbers(3) as [string, string, string];
    await test.session.lookUp([to, other, refused]);
    expect(await test.session.findAcquainted([to, other])).to.deep.equal(new Set());
    sessions.fault('message', { ackError: 463 }, { match: { recipient: refused } });
    await send(refused);
    await send(to);
    await eventually(async () => (await test.session.findAcquainted([to])).has(to));
    const known = await test.session.findAcquainted([to, other, refused, test.phone]);
    expect(known).to.deep.equal(new Set([to, test.phone]));
  });

  it('knows who wrote first, and people by both spellings of a Brazilian number', async () => {
    const [from] = makeNumbers(1) as [string];
    const heard: string[] = [];
    Object.assign(test.handlers, { message: ({ phone }: { phone: string }) => heard.push(phone) });
    await sessions.admin('POST', `phones/${from}/messages`, JSON.stringify({ to: test.phone, text: 'hi' }));
    await eventually(() => heard.includes(from));
    await eventually(async () => (await test.session.findAcquainted([from])).has(from));
    const [withNine, without] = ['5511987654321', '551187654321'];
    await send(without);
    await eventually(async () => (await test.session.findAcquainted([withNine, without])).size === 2);
  });

  it('says whether, and until when, the account may not start new chats', async () => {
    const [to] = makeNumbers(1) as [string];
    const [soonMs, laterMs] = [3600, 7200].map((seconds) => Math.ceil(Date.now() / 1000 + seconds) * 1000);
    const restrict = (restrictions: object) => sessions.admin('PUT', `accounts/${test.phone}`, { restrictions });
    let news = 0;
    Object.assign(test.handlers, { restrictionNews: () => news++ });
    expect(await test.session.readRestriction()).to.equal(undefined);
    await restrict({ reachoutLockedUntilMs: soonMs });
    await eventually(() => news > 0);
    expect(await send(to)).to.deep.equal({ kind: 'restricted', code: 463 });
    sessions.fault('message', { ackError: 475 }, { match: { recipient: to } });
    expect(await send(to)).to.deep.equal({ kind: 'restricted', code: 475 });
    expect(await test.session.readRestriction()).to.deep.equal({ kind: 'reach_out_time_lock', untilMs: soonMs });
    const newChatCap = { total: 1, used: 1 };
    await restrict({ reachoutLockedUntilMs: soonMs, newChatCap: { ...newChatCap, endsAtMs: laterMs } });
    expect(await test.session.readRestriction(), 'the later').to.deep.equal({ kind: 'new_chat_cap', untilMs: laterMs });
    await restrict({ newChatCap });
    expect(await test.session.readRestriction()).to.deep.equal({ kind: 'new_chat_cap' });
    await restrict({});
    const quotaIds = ['27910975521856601', '24503548349331633'];
    const failQuota = () => {
      for (const queryId of quotaIds) sessions.fault('iq', { error: 500 }, { match: { queryId } });
    };
    failQuota();
    const free = await test.session.readRestriction('reach_out_time_lock');
    expect(free, 'the lock is answered').to.equal(undefined);
    failQuota();
    const silent = await test.session.readRestriction('new_chat_cap').catch((error: unknown) => error);
    expect(silent, 'the quota is not').to.be.instanceOf(Error);
    // The lock, and the quota by either of its ids.
    sessions.fault('iq', { error: 404 }, { match: { xmlns: 'w:mex' }, count: 3 });
    const unknown = await test.session.readRestriction().catch((error: Error) => error);
    expect(unknown, 'a network that knows no limit has said nothing').to.be.instanceOf(UnknownLimitsError);
    await restrict({});
  });

  it('looks again, once, when its list of devices is out of date', async () => {
    const [once, twice] = makeNumbers(2) as [string, string];
    sessions.fault('message', { ackError: 479 }, { match: { recipient: once } });
    expect((await send(once)).kind).to.equal('accepted');
    sessions.fault('message', { ackError: 479 }, { match: { recipient: twice }, count: 2 });
    expect(await send(twice)).to.deep.equal({ kind: 'staleDevices', code: 479 });
    const [shown] = await eventually(async () => atLeast(1, await sessions.messagesOf(once)));
    expect(shown).to.include({ shown: 1, arrivals: 1 });
  });

  it('does not take silence for a yes', async () => {
    const other = await sessions.openLinked({ ackTimeoutMs: 100 });
    const [to] = makeNumbers(1) as [string];
    sessions.fault('message', { dropAck: true });
    expect(await send(to, makePlatformId(), other)).to.deep.equal({ kind: 'unacknowledged' });
    await eventually(async () => atLeast(1, await sessions.messagesOf(to)));
  });

  it('does not take the end of the connection for a yes', async () => {
    const other = await sessions.openLinked();
    const [to] = makeNumbers(1) as [string];
    sessions.fault('message', { closeBeforeAck: true });
    expect(await send(to, makePlatformId(), other)).to.deep.equal({ kind: 'unacknowledged' });
    expect(await other.next('closed')).to.include({ kind: 'reconnect' });
    expect(await caught(send(to, makePlatformId(), other))).to.be.instanceOf(SessionEndedError);
  });

  it('is bounded in time: a stall ends the session, and nothing is written afterwards', async () => {
    const other = await sessions.openLinked({ sendTimeoutMs: 300 });
    const [known, stuck] = makeNumbers(2) as [string, string];
    await send(known, makePlatformId(), other);
    await other.session.lookUp([stuck]);
    const content = { kind: 'text' as const, text: 'hello' };
    const first = await other.session.send({ to: known, platformId: makePlatformId(), content });
    // The library waits under its mutex for the session of the second one.
    const keys = defer<void>();
    other.options.caches.keys.clear();
    other.keyStore.beforeRead = (type) => (type === 'session' ? keys.promise : undefined);
    const [second, third] = await Promise.allSettled([
      send(stuck, makePlatformId(), other),
      send(known, makePlatformId(), other),
    ]);
    keys.resolve();
    expect(await first.ack, 'its stanza was written').to.have.property('kind');
    expect([second.status, third.status], 'theirs were not').to.deep.equal(['rejected', 'rejected']);
    expect(await other.next('closed')).to.include({ kind: 'reconnect' });
    expect(await sessions.messagesOf(stuck)).to.deep.equal([]);
  });

  it('ends the session where the keys of a message are not stored in time, and does not take that for a yes', async () => {
    const other = await sessions.openLinked({ sendTimeoutMs: 300 });
    const [to] = makeNumbers(1) as [string];
    await send(to, makePlatformId(), other);
    const stored = defer<void>();
    other.keyStore.beforeCommit = () => stored.promise;
    expect((await send(to, makePlatformId(), other)).kind).to.equal('unacknowledged');
    stored.resolve();
    expect(await other.next('closed')).to.include({ kind: 'reconnect' });
  });

  it('answers a phone that cannot decrypt from the stored message', async () => {
    const texts = new Map<string, string>();
    const [to] = makeNumbers(1) as [string];
    const other = await sessions.openLinked({
      recipientOf: async (id) => (texts.has(id) ? to : undefined),
      getMessage: async (id) => {
        const text = texts.get(id);
        return text === undefined ? undefined : { kind: 'text', text };
      },
    });
    await send(to, makePlatformId(), other);
    await eventually(async () => atLeast(1, await sessions.messagesOf(to)));
    await sessions.admin('POST', `phones/${to}/reinstall`);
    const platformId = makePlatformId();
    texts.set(platformId, 'hello');
    await send(to, platformId, other);
    const shown = await eventually(async () =>
      (await sessions.messagesOf(to)).find(({ id, shown }) => id === platformId && shown === 1),
    );
    expect(shown.text).to.equal('hello');
  });

  it('keeps many messages in flight, each with its own verdict', async () => {
    const numbers = makeNumbers(60);
    await test.session.lookUp(numbers);
    sessions.fault('message', { ackError: 406 }, { match: { recipient: numbers[17]! } });
    const outcomes = await Promise.all(numbers.map((to) => send(to)));
    expect(outcomes.map(({ kind }) => kind).filter((kind) => kind === 'accepted')).to.have.length(59);
    expect(outcomes[17]).to.deep.equal({ kind: 'refused', code: 406 });
  });
});

async function caught(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
}

function atLeast<Item>(count: number, items: Item[]): Item[] | false {
  return items.length >= count && items;
}
