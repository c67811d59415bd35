import { EventEmitter } from 'node:events';
import { LookUp } from '@gateway/messenger/lookup/look-up';
import { ABSENT, createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { defer } from '@gateway/runtime/deferred';
import { eventually } from '@gateway/testkit/eventually';
import type { BinaryNode, USyncQuery } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { makeNumbers, makePlatformId, type TestSession, useSessions } from './support/session-fixture.js';

interface Counters {
  iqs: number;
  usyncQueries: number;
  keyBundles: number;
}

describe('looking up numbers', () => {
  const sessions = useSessions();
  let test: TestSession & { phone: string };
  const counters = () => sessions.admin<Counters>('GET', 'counters');

  before(async () => {
    test = await sessions.openLinked();
    await test.session.lookUp(makeNumbers(1));
  });

  it('tells numbers that exist from those that do not, a hundred in two queries', async () => {
    const numbers = makeNumbers(100);
    for (const index of [3, 50]) await sessions.admin('PUT', `phones/${numbers[index]}`, { exists: false });
    const before = await counters();
    const results = await test.session.lookUp(numbers);
    const after = await counters();
    expect(results.size).to.equal(100);
    numbers.forEach((number, index) => {
      expect(results.get(number)).to.deep.equal({ exists: index !== 3 && index !== 50 });
    });
    expect(after.usyncQueries - before.usyncQueries).to.equal(1);
    expect(after.iqs - before.iqs).to.equal(2);
  });

  it('knows the number that the network uses for a person whose number can be written in two ways', async () => {
    expect(test.session.numberOf('5531987654321'), 'before').to.equal('5531987654321');
    await test.session.lookUp(['5531987654321', '5511987654321']);
    expect(test.session.numberOf('5531987654321')).to.equal('553187654321');
    expect(test.session.numberOf('5511987654321')).to.equal('5511987654321');
  });

  it('knows a hidden identifier from the keys when the lookup has expired, in any spelling of the number', async () => {
    const number = '5531987654322';
    expect(await test.session.hiddenIdOf(number), 'before').to.equal(undefined);
    await test.session.lookUp([number]);
    const hiddenId = await test.session.hiddenIdOf(number);
    expect(hiddenId).to.match(/^\d+@lid$/);
    expect(test.session.namedHiddenIdOf(number)).to.equal(hiddenId);
    test.options.caches.contacts.clear();
    expect(test.session.namedHiddenIdOf(number), 'by the keys alone').to.equal(undefined);
    const before = await counters();
    expect(await test.session.hiddenIdOf(number)).to.equal(hiddenId);
    expect((await counters()).iqs).to.equal(before.iqs);
  });

  it('makes sessions while those before them are stored, and ends when all are', async () => {
    const { keyStore, session, options } = test;
    const { promise: mayStore, resolve: store } = defer<void>();
    keyStore.beforeCommit = () => mayStore;
    const known = () => [...options.caches.keys.entries()].filter(([, value]) => value !== ABSENT);
    const made = () => known().filter(([key]) => key.startsWith('session/')).length;
    const madeBefore = made();
    let isOver = false;
    const lookUp = session.lookUp(makeNumbers(20)).finally(() => {
      isOver = true;
    });
    await eventually(() => made() - madeBefore >= 20);
    await new Promise(setImmediate);
    expect(isOver).to.equal(false);
    store();
    await lookUp;
    const stored = [...keyStore.keys.keys()].filter((key) => key.startsWith('session/'));
    expect(stored.length).to.be.at.least(made());
    keyStore.beforeCommit = () => {};
  });

  it('leaves nothing to ask for when the message is sent', async () => {
    const numbers = makeNumbers(5);
    await test.session.lookUp(numbers);
    const before = await counters();
    test.keyStore.reads.splice(0);
    for (const to of numbers) {
      const { ack } = await test.session.send({
        to,
        platformId: makePlatformId(),
        content: { kind: 'text', text: 'x' },
      });
      await ack;
    }
    const after = await counters();
    expect(after.usyncQueries).to.equal(before.usyncQueries);
    expect(after.keyBundles).to.equal(before.keyBundles);
    expect(test.keyStore.reads, 'keys are in the cache by then').to.deep.equal([]);
  });

  it('asks once for a number that several callers want, and never for one that it knows', async () => {
    const [number] = makeNumbers(1) as [string];
    const before = await counters();
    const answers = await Promise.all([test.session.lookUp([number, number]), test.session.lookUp([number])]);
    await test.session.lookUp([number]);
    const after = await counters();
    for (const answer of answers) expect(answer.get(number)).to.deep.equal({ exists: true });
    expect(after.usyncQueries - before.usyncQueries).to.equal(1);
  });

  it('asks together about what callers want one by one, and at once about what is urgent', async () => {
    const numbers = makeNumbers(60);
    const urgent = numbers.at(-1)!;
    const before = await counters();
    const first = test.session.lookUp([numbers[0]!]);
    const others = numbers.slice(1).map((number) => test.session.lookUp([number]));
    const code = await test.session.lookUp([urgent], { urgent: true });
    expect(code.get(urgent)).to.deep.equal({ exists: true });
    const answers = await Promise.all([first, ...others]);
    const after = await counters();
    expect(answers.map((answer, i) => answer.get(numbers[i]!))).to.deep.equal(numbers.map(() => ({ exists: true })));
    expect(after.usyncQueries - before.usyncQueries).to.be.at.most(3);
    expect(after.keyBundles - before.keyBundles, 'one session each').to.equal(numbers.length);
  });

  it('does nothing with answers for others while something is urgent, but for that', async () => {
    const [waiting, wanted] = [makeNumbers(5), makeNumbers(1)];
    const before = await counters();
    const end = defer<void>();
    const urgent = test.session.urgently(() => end.promise);
    let isPrepared = false;
    const others = test.session.lookUp(waiting).finally(() => {
      isPrepared = true;
    });
    await eventually(async () => (await counters()).usyncQueries - before.usyncQueries === 1);
    await test.session.lookUp(wanted, { urgent: true });
    expect(isPrepared).to.equal(false);
    expect((await counters()).keyBundles - before.keyBundles).to.equal(1);
    end.resolve();
    await urgent;
    expect([...(await others).values()]).to.deep.equal(waiting.map(() => ({ exists: true })));
  });

  it('goes on with answers for others while something is urgent, if that wants one of them', async () => {
    const numbers = makeNumbers(5);
    const before = await counters();
    const end = defer<void>();
    const urgent = test.session.urgently(() => end.promise);
    const others = test.session.lookUp(numbers);
    await eventually(async () => (await counters()).usyncQueries - before.usyncQueries === 1);
    // Answered later: those before it wait by then.
    await test.session.lookUp(makeNumbers(1), { urgent: true });
    const wanted = numbers[3]!;
    const code = await test.session.lookUp([wanted], { urgent: true }).finally(end.resolve);
    expect(code.get(wanted)).to.deep.equal({ exists: true });
    await Promise.all([urgent, others]);
    const after = await counters();
    expect(after.usyncQueries - before.usyncQueries, 'no further question').to.equal(2);
    expect(after.keyBundles - before.keyBundles, 'one session each').to.equal(numbers.length + 1);
  });

  it('does not keep a message from its turn while something is urgent: others wait for that turn', async () => {
    const [to] = makeNumbers(1) as [string];
    const end = defer<void>();
    const urgent = test.session.urgently(() => end.promise);
    const message = { to, platformId: makePlatformId(), content: { kind: 'text', text: 'hello' } } as const;
    const { ack } = await test.session.send(message).finally(end.resolve);
    expect((await ack).kind).to.equal('accepted');
    await urgent;
  });

  it('keeps sessions that are good', async () => {
    const [number] = makeNumbers(1) as [string];
    await test.session.lookUp([number]);
    test.options.caches.contacts.clear();
    test.options.caches.devices.clear();
    const before = await counters();
    expect((await test.session.lookUp([number])).get(number)).to.deep.equal({ exists: true });
    expect((await counters()).keyBundles).to.equal(before.keyBundles);
  });

  it('gives every number the error when the network refuses the query, and asks again later', async () => {
    const numbers = makeNumbers(3);
    sessions.fault('iq', { error: 429 }, { match: { xmlns: 'usync' } });
    const refused = await test.session.lookUp(numbers);
    for (const number of numbers) expect(refused.get(number)).to.deep.equal({ error: 429 });
    const answered = await test.session.lookUp(numbers);
    for (const number of numbers) expect(answered.get(number)).to.deep.equal({ exists: true });
  });

  it('knows more than a hundred numbers', async () => {
    const numbers = makeNumbers(230);
    const results = await test.session.lookUp(numbers);
    expect([...results.keys()].sort()).to.deep.equal([...numbers].sort());
    expect([...results.values()].every((result) => 'exists' in result && result.exists)).to.equal(true);
  });

  it('notices a device that was linked since', async () => {
    const recipient = await sessions.openLinked();
    const to = recipient.phone;
    const send = () => test.session.send({ to, platformId: makePlatformId(), content: { kind: 'text', text: 'x' } });
    await (await send()).ack;
    const devices = () => test.options.caches.devices.get(to)?.map(({ device }) => device) ?? [];
    expect(devices()).to.have.length(2);
    await sessions.link(to);
    await eventually(() => devices().length !== 2);
    expect((await (await send()).ack).kind).to.equal('accepted');
    expect(devices()).to.have.length(3);
  });

  it('notices it too when the network says so by LID', async () => {
    const ws = new EventEmitter();
    const lidMapping = { getPNForLID: async () => '49171:0@s.whatsapp.net' };
    const caches = createSessionCaches();
    new LookUp({
      sock: { ws, signalRepository: { lidMapping } } as never,
      caches,
      signal: new AbortController().signal,
    });
    caches.devices.set('49171', []);
    ws.emit('CB:notification,type:devices', { tag: 'notification', attrs: { from: '99@lid', type: 'devices' } });
    await eventually(() => !caches.devices.has('49171'));
  });

  it('believes an empty list of our own devices for a minute at most, and an older list rather than that', async () => {
    let own: number[] = [];
    const device = (id: number): BinaryNode => ({ tag: 'device', attrs: { id: String(id), 'key-index': '1' } });
    const listOf = (ids: number[]): BinaryNode => ({ tag: 'device-list', attrs: {}, content: ids.map(device) });
    const sock = {
      ws: new EventEmitter(),
      user: { id: '491:3@s.whatsapp.net' },
      authState: { keys: { get: async () => ({}), set: async () => {} } },
      signalRepository: {
        lidMapping: { storeLIDPNMappings: async () => {} },
        jidToSignalProtocolAddress: (jid: string) => jid,
        validateSession: async () => ({ exists: true }),
      },
      async executeUSyncQuery(query: USyncQuery) {
        const users = query.users.map(({ id, phone }): BinaryNode => {
          const devices = { tag: 'devices', attrs: {}, content: [listOf(id?.startsWith('491@') ? own : [0])] };
          const contact = { tag: 'contact', attrs: { type: 'in' }, content: phone ?? '' };
          return {
            tag: 'user',
            attrs: { jid: id ?? `${phone!.slice(1)}@s.whatsapp.net` },
            content: [contact, devices],
          };
        });
        const usync = { tag: 'usync', attrs: {}, content: [{ tag: 'list', attrs: {}, content: users }] };
        query.parseUSyncQueryResult({ tag: 'iq', attrs: { type: 'result' }, content: [usync] });
      },
    };
    const caches = createSessionCaches();
    const lookUp = new LookUp({ sock: sock as never, caches, signal: new AbortController().signal });
    /** What a message to a person makes of the list that the network has of us. */
    const ask = async (list: number[]) => {
      own = list;
      expect(await lookUp.lookUpAnew('492')).to.deep.equal({ exists: true });
      const ids = caches.devices.get('491')?.map(({ device: id }) => id);
      return { ids, isForLong: caches.devices.getRemainingTTL('491') > 120_000 };
    };
    expect(await ask([]), 'the phone alone').to.deep.equal({ ids: [0], isForLong: false });
    expect(await ask([0, 3, 4]), 'without ourselves').to.deep.equal({ ids: [0, 4], isForLong: true });
    expect(await ask([]), 'the older list').to.deep.equal({ ids: [0, 4], isForLong: false });
    expect(await ask([0, 3])).to.deep.equal({ ids: [0], isForLong: true });
  });

  it('ends with the session instead of waiting for an answer', async () => {
    const other = await sessions.openLinked();
    sessions.fault('iq', { silent: true }, { match: { xmlns: 'usync' }, count: 5 });
    const [number] = makeNumbers(1) as [string];
    const results = other.session.lookUp([number]);
    await other.session.close();
    expect((await results).get(number)).to.deep.equal({ error: 428 });
  });
});
