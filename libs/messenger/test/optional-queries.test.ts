import { isHangUp } from '@gateway/messenger/codes/disconnect-outcomes';
import { OptionalQueries } from '@gateway/messenger/session/optional-queries';
import { NetworkRefusalError, SessionEndedError, TimeoutError } from '@gateway/messenger/session/session-errors';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { makeNumbers, makePlatformId, useSessions } from './support/session-fixture.js';

describe('queries that the network ends the connection over', () => {
  const sessions = useSessions({ profile: '2026' });

  it('are named when the connection ends while they have no answer', async () => {
    const test = await sessions.openLinked();
    sessions.simulator.network.faults.add({
      ...{ on: 'iq', do: { streamError: 500 }, match: { xmlns: 'w:profile:picture' }, count: 1 },
    });
    await test.session.fetchProfilePicture().catch(() => undefined);
    expect(await test.next('closed')).to.include({ kind: 'unknown', code: 500 });
    expect(test.circumstances.suspects).to.deep.equal(['ownPicture']);
  });

  it('are not suspected when they were answered, or when we hung up', async () => {
    const answered = await sessions.openLinked();
    await answered.session.fetchProfilePicture();
    const { devices } = sessions.simulator.network.accounts.find(answered.phone)!;
    for (const { connection } of devices.values()) connection?.endStream(500);
    await answered.next('closed');
    expect(answered.circumstances.suspects).to.deep.equal([]);
    const closed = await sessions.openLinked();
    const picture = closed.session.fetchProfilePicture().catch(() => undefined);
    await closed.session.close();
    await picture;
    expect(closed.circumstances).to.not.have.property('suspects');
  });

  it('are not blamed for a path that breaks while the network takes its time, also in a later login', async () => {
    const first = await sessions.openLinked();
    await first.session.lookUp(makeNumbers(1));
    await first.session.close();
    const test = await sessions.open(first.keyStore, { caches: first.options.caches });
    await test.next('open');
    const match = { account: first.phone, xmlns: 'usync' };
    const rule = sessions.simulator.network.faults.add({ on: 'iq', do: { silent: true }, match });
    const lookUp = test.session.lookUp(makeNumbers(1));
    await eventually(() => rule.hits > 0);
    await sessions.admin('POST', 'restart-sockets');
    expect(await test.next('closed')).to.include({ kind: 'reconnect', backoff: 'network' });
    await lookUp;
    expect(test.circumstances).to.not.have.property('suspects');
  });

  it('are not asked when they are to be left out: no picture, and numbers are looked up by jid', async () => {
    const rule = sessions.simulator.network.faults.add({
      ...{ on: 'iq', do: { streamError: 500 }, match: { xmlns: 'w:profile:picture' } },
    });
    const test = await sessions.openLinked({ leftOut: new Set(['ownPicture', 'lookUpByNumber'] as const) });
    expect(await test.session.fetchProfilePicture()).to.equal(undefined);
    expect(rule.hits).to.equal(0);
    const [known, unknown] = makeNumbers(2) as [string, string];
    await sessions.admin('PUT', `phones/${unknown}`, { exists: false });
    const found = await test.session.lookUp([known, unknown]);
    expect(found.get(known)).to.deep.equal({ exists: true });
    expect(found.get(unknown), 'no one has said that it does not exist').to.deep.equal({ error: 404 });
  });

  it('are named also when a refused message asked them', async () => {
    const [account, stranger] = makeNumbers(2) as [string, string];
    await sessions.admin('PUT', `accounts/${account}`, { hasSalt: false });
    const { keyStore } = await sessions.link(account, 'pn');
    // Without a salt it would look for one in the settings, in the same moment now and then.
    const test = await sessions.open(keyStore, { leftOut: new Set(['settings'] as const) });
    await test.next('open');
    await test.session.lookUp([stranger]);
    const lock = { xmlns: 'w:mex', queryId: '23983697327930364' };
    sessions.fault('iq', { streamError: 500 }, { match: lock });
    const content = { kind: 'text', text: 'hello' } as const;
    const { ack } = await test.session.send({ to: stranger, platformId: makePlatformId(), content });
    await ack;
    await test.next('closed');
    expect(test.circumstances.suspects).to.deep.equal(['lock']);
  });

  it('are the questions about limits too: without them the network is taken to know none', async () => {
    const test = await sessions.openLinked();
    const match = { queryId: '27910975521856601' };
    sessions.simulator.network.faults.add({ on: 'iq', do: { streamError: 500 }, match, count: 1 });
    await test.session.readRestriction().catch(() => undefined);
    await test.next('closed');
    expect(test.circumstances.suspects).to.deep.equal(['quota']);
    const rule = sessions.simulator.network.faults.add({ on: 'iq', do: { streamError: 500 }, match });
    const without = await sessions.openLinked({ leftOut: new Set(['quota'] as const) });
    expect(await without.session.readRestriction('new_chat_cap')).to.equal(undefined);
    expect(rule.hits).to.equal(0);
  });

  it('are asked one after the other, so that an end is the fault of one', async () => {
    const queries = new OptionalQueries();
    let end = (_: Error) => {};
    const first = queries.ask('quota', () => new Promise((_, reject) => (end = reject))).catch(() => undefined);
    let isAsked = false;
    const second = queries.ask('ownPicture', async () => (isAsked = true)).catch((error: unknown) => error);
    await new Promise(setImmediate);
    end(new SessionEndedError());
    expect(await second).to.be.instanceOf(SessionEndedError);
    await first;
    expect(isAsked).to.equal(false);
    expect(queries.suspects()).to.deep.equal(['quota']);
  });

  it('count only when they are new, and only when the end of the connection was their end', async () => {
    const queries = new OptionalQueries();
    const ask = (outcome: Promise<unknown>) => queries.ask('ownPicture', () => outcome).catch(() => undefined);
    await ask(Promise.resolve());
    await ask(Promise.reject(Object.assign(new Error('item-not-found'), { isBoom: true, data: 404 })));
    await ask(Promise.reject(new Error('took too long')));
    await ask(Promise.reject(new TimeoutError('picture', 1)));
    await ask(Promise.reject(new NetworkRefusalError(500)));
    expect(await queries.ask('lock', async () => 'goes on')).to.equal('goes on');
    expect(queries.suspects()).to.deep.equal([]);
    for (const end of [new SessionEndedError(), 1006, Object.assign(new Error('reset'), { code: 'ECONNRESET' })]) {
      const others = new OptionalQueries();
      await others.ask('ownPicture', () => Promise.reject(end)).catch(() => undefined);
      expect(others.suspects(), String(end)).to.deep.equal(['ownPicture']);
    }
  });

  it('are suspected after an end without words only when nothing came after them, and no answer lately', async () => {
    const openOne = (queries: OptionalQueries) =>
      void queries.ask('lookUpByNumber', () => new Promise(() => {})).catch(() => undefined);
    const silent = new OptionalQueries();
    silent.noteFrame();
    openOne(silent);
    expect(silent.suspects('wordless'), 'a server that hangs up').to.deep.equal(['lookUpByNumber']);
    silent.noteFrame();
    expect(silent.suspects('wordless'), 'one that said something else since').to.equal(undefined);
    expect(silent.suspects('spoken')).to.deep.equal(['lookUpByNumber']);
    const answered = new OptionalQueries(new Set(), new Map([['lookUpByNumber', performance.now()]]));
    openOne(answered);
    expect(answered.suspects('wordless'), 'one that answers it').to.equal(undefined);
    const refused = new OptionalQueries();
    await refused.ask('lookUpByNumber', () => Promise.reject(new NetworkRefusalError(406))).catch(() => undefined);
    openOne(refused);
    expect(refused.suspects('wordless'), 'a refusal is an answer').to.equal(undefined);
    expect(new OptionalQueries().suspects('wordless'), 'none was open').to.deep.equal([]);
  });

  it('are not blamed for what the network says of the account or the connection as a whole', () => {
    const boom = (statusCode: number) => Object.assign(new Error(), { output: { statusCode } });
    for (const code of [428, 500, 599]) expect(isHangUp(boom(code)), String(code)).to.equal(true);
    for (const code of [401, 403, 405, 408, 429, 440, 503, 515])
      expect(isHangUp(boom(code)), String(code)).to.equal(false);
  });
});

describe('the reason that the server gives for an end', () => {
  const sessions = useSessions({ profile: '2026' });

  it('is passed on in its own words', async () => {
    const { keyStore } = await sessions.link();
    const test = await sessions.open(keyStore);
    await test.next('open');
    const other = await sessions.open(keyStore);
    expect(await test.next('closed')).to.deep.equal({ kind: 'replaced', code: 440 });
    expect(test.circumstances.serverWords).to.equal('conflict replaced');
    await other.session.close();
    expect(other.circumstances).to.deep.equal({});
  });
});
