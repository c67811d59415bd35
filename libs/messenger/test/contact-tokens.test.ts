import type { HistoryCreds } from '@gateway/messenger/history/own-creds';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import type { BinaryNode } from '@gateway/messenger/socket/baileys';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { makeNumbers, makePlatformId, type TestSession, useSessions } from './support/session-fixture.js';

const WEEK_SECONDS = 7 * 24 * 60 * 60;

describe('what a message shows so that it may reach its recipient', () => {
  /** The tokens of each message that clients wrote. */
  const shown = new Map<string, string[]>();
  const sessions = useSessions({
    profile: '2026',
    trace(direction, _client, { tag, attrs, content }) {
      if (direction !== 'in' || tag !== 'message' || !Array.isArray(content)) return;
      const tags = (content as BinaryNode[]).map((child) => child.tag);
      shown.set(
        attrs.id!,
        tags.filter((each) => each === 'tctoken' || each === 'cstoken'),
      );
    },
  });
  const lidOf = (number: string) => sessions.simulator.network.directory.jidOf(number, 'lid');
  const change = (number: string, body: object) => sessions.admin('PUT', `accounts/${number}`, body);

  async function send({ session }: TestSession, to: string) {
    const platformId = makePlatformId();
    await session.lookUp([to]);
    const { ack } = await session.send({ to, platformId, content: { kind: 'text', text: 'hello' } });
    const { kind, ...more } = await ack;
    return { kind, code: 'code' in more ? more.code : undefined, tokens: shown.get(platformId) };
  }
  const accepted = (tokens: string[]) => ({ kind: 'accepted', code: undefined, tokens });

  it('is a token made of the salt, for strangers, from the first message after the linking on', async () => {
    const [stranger, another] = makeNumbers(2) as [string, string];
    const test = await sessions.openLinked();
    expect(await send(test, stranger)).to.deep.equal(accepted(['cstoken']));
    const keyStore = test.keyStore.copy();
    await test.session.close();
    const next = await sessions.open(keyStore, { caches: createSessionCaches() });
    await next.next('open');
    expect(await send(next, another), 'the salt is stored').to.deep.equal(accepted(['cstoken']));
  });

  it('is the token of a person who wrote, stored under their hidden identifier, and never two', async () => {
    const [person] = makeNumbers(1) as [string];
    const test = await sessions.openLinked();
    await sessions.admin('POST', `phones/${person}/messages`, { to: test.phone, text: 'hi' });
    const key = `tctoken/${lidOf(person)}`;
    await eventually(() => test.keyStore.keys.has(key));
    expect(await send(test, person)).to.deep.equal(accepted(['tctoken']));
    const tokens = [...test.keyStore.keys.keys()].filter((each) => each.startsWith('tctoken/'));
    expect(tokens).to.deep.equal([key]);
  });

  it('is the one made of the salt again when the token of the person is too old', async () => {
    const [person] = makeNumbers(1) as [string];
    const { keyStore, phone } = await sessions.link();
    const old = { token: Buffer.from('old'), timestamp: String(Math.floor(Date.now() / 1000) - 5 * WEEK_SECONDS) };
    keyStore.keys.set(`tctoken/${lidOf(person)}`, Buffer.from(JSON.stringify(old)));
    const test = { ...(await sessions.open(keyStore)), phone };
    await test.next('open');
    await test.session.historyTaken;
    expect(await send(test, person)).to.deep.equal(accepted(['cstoken']));
  });

  it('is none that is too old, and a person to whom a message was refused stays a stranger', async () => {
    const [account, person] = makeNumbers(2) as [string, string];
    await change(account, { hasSalt: false });
    const { keyStore } = await sessions.link(account);
    const old = { token: Buffer.from('old'), timestamp: String(Math.floor(Date.now() / 1000) - 5 * WEEK_SECONDS) };
    keyStore.keys.set(`tctoken/${lidOf(person)}`, Buffer.from(JSON.stringify(old)));
    const test = await sessions.open(keyStore);
    await test.next('open');
    expect(await send(test, person)).to.deep.equal({ kind: 'restricted', code: 463, tokens: [] });
    expect(JSON.parse(String(keyStore.keys.get(`tctoken/${lidOf(person)}`)))).not.to.have.property('senderTimestamp');
  });

  it('is nothing without a salt, and the network refuses strangers without a lock', async () => {
    const [account, stranger] = makeNumbers(2) as [string, string];
    await change(account, { hasSalt: false });
    const { keyStore } = await sessions.link(account);
    const test = await sessions.open(keyStore);
    await test.next('open');
    expect(await send(test, stranger)).to.deep.equal({ kind: 'restricted', code: 463, tokens: [] });
    expect(await test.session.readRestriction('reach_out_time_lock')).to.equal(undefined);
  });

  it('is what the settings of the network ask for: a token of the person (10518), else one made of the salt (24941)', async () => {
    const [friend, stranger, another] = makeNumbers(3) as [string, string, string];
    const { phone, keyStore, session } = await sessions.openLinked();
    await sessions.admin('POST', `phones/${friend}/messages`, { to: phone, text: 'hi' });
    await eventually(() => keyStore.keys.has(`tctoken/${lidOf(friend)}`));
    await session.close();
    /** What the network says of 10518 and 24941, to whom a message goes, and what it shows. */
    const cases: [boolean, boolean, string, string[]][] = [
      [false, true, friend, ['cstoken']],
      [true, false, friend, ['tctoken']],
      [true, false, stranger, []],
      [false, false, friend, []],
      [true, true, another, ['cstoken']],
    ];
    for (const [given, made, to, tokens] of cases) {
      await change(phone, { props: { 10518: given, 24941: made }, tokensRequired: false });
      const test = await sessions.open(keyStore, { caches: createSessionCaches() });
      await test.next('open');
      const kept = { given, made };
      await eventually(() => expect((JSON.parse(keyStore.creds!) as HistoryCreds).showsTokens).to.deep.equal(kept));
      expect(await send(test, to), JSON.stringify(kept)).to.deep.equal(accepted(tokens));
      await test.session.close();
    }
  });

  it('is nothing that the network does not want, also when it says so only once', async () => {
    const [stranger] = makeNumbers(1) as [string];
    const test = await sessions.openLinked();
    await eventually(() => (JSON.parse(test.keyStore.creds!) as HistoryCreds).showsTokens?.made === true);
    const keyStore = test.keyStore.copy();
    await test.session.close();
    const creds = JSON.parse(keyStore.creds!) as HistoryCreds;
    keyStore.creds = JSON.stringify({ ...creds, showsTokens: { given: true, made: false } });
    sessions.fault('iq', { silent: true }, { match: { xmlns: 'abt' } });
    await change(test.phone, { tokensRequired: false });
    const next = await sessions.open(keyStore, { caches: createSessionCaches() });
    await next.next('open');
    expect(await send(next, stranger)).to.deep.equal(accepted([]));
  });
});
