import { readAddressing } from '@gateway/messenger/addressing/addressing-state';
import type { AckOutcome } from '@gateway/messenger/codes/ack-outcomes';
import { eventually } from '@gateway/testkit/eventually';
import { BufferJSON } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import type { MemoryKeyStore } from './support/memory-key-store.js';
import { makeNumbers, makePlatformId, type TestSession, useSessions } from './support/session-fixture.js';

type Linked = TestSession & { phone: string };

describe('the namespace of an account', () => {
  const sessions = useSessions({ profile: '2026' });

  const stateIn = ({ creds }: MemoryKeyStore) => readAddressing(JSON.parse(creds ?? '{}', BufferJSON.reviver));
  const namespaceIn = (keyStore: MemoryKeyStore) => stateIn(keyStore).namespace;

  const isMigrationEnabledIn = ({ creds }: MemoryKeyStore) => JSON.parse(creds ?? '{}').isMigrationEnabled;

  /** `knows: false`: as after an import of keys from another program, which say nothing of the namespace. */
  async function openAs(addressing: 'lid' | 'pn', { knows = true } = {}): Promise<Linked> {
    const { keyStore, phone } = await sessions.link(undefined, addressing);
    if (!knows) {
      const { addressing: _forgotten, isMigrationEnabled: _too, ...creds } = JSON.parse(keyStore.creds!);
      keyStore.creds = JSON.stringify(creds);
    }
    const test = await sessions.open(keyStore);
    await test.next('open');
    // The first message with a token may try out the other name anew.
    await eventually(() => Boolean(JSON.parse(keyStore.creds!).nctSalt), { what: 'the salt of the account' });
    return { ...test, phone };
  }

  /** People whom the account may write to without a token: those are another reason to be refused. */
  function meet(phone: string, count: number): string[] {
    sessions.simulator.network.accounts.ensure(phone).tokensRequired = false;
    return makeNumbers(count);
  }

  async function sendTo(test: Linked, numbers: readonly string[]): Promise<AckOutcome[]> {
    await test.session.lookUp(numbers);
    return Promise.all(
      numbers.map(async (to) => {
        const { ack } = await test.session.send({
          to,
          platformId: makePlatformId(),
          content: { kind: 'text', text: 'hello' },
        });
        return ack;
      }),
    );
  }

  const refusals = () => sessions.simulator.network.counters.refusedStanzas;

  for (const addressing of ['lid', 'pn'] as const) {
    it(`is what its phone says at linking (${addressing}): nothing is refused, and people see who writes`, async () => {
      const test = await openAs(addressing);
      expect(namespaceIn(test.keyStore)).to.equal(addressing);
      const before = refusals();
      const people = meet(test.phone, 5);
      for (const { kind } of await sendTo(test, people)) expect(kind).to.equal('accepted');
      expect(refusals()).to.equal(before);
      const [shown] = await eventually(async () => {
        const rows = await sessions.messagesOf(people[0]!);
        return rows[0]?.shown ? rows : undefined;
      });
      expect(shown).to.deep.include({ from: test.phone, shown: 1, arrivals: 1 });
      expect((shown as { details?: object }).details ?? {}).not.to.have.property('unknownUser');
    });

    it(`is what the network's setting says where the phone has said nothing (${addressing})`, async () => {
      const test = await openAs(addressing, { knows: false });
      await eventually(() => isMigrationEnabledIn(test.keyStore) !== undefined, { what: 'the setting' });
      const before = refusals();
      for (const { kind } of await sendTo(test, meet(test.phone, 3))) expect(kind).to.equal('accepted');
      expect(refusals()).to.equal(before);
      expect(namespaceIn(test.keyStore)).to.equal(addressing);
    });

    it(`is learnt from the network where nothing is known (${addressing}): one message tries, the others wait`, async () => {
      sessions.fault('iq', { error: 500 }, { match: { xmlns: 'abt' } });
      const test = await openAs(addressing, { knows: false });
      const before = refusals();
      for (const { kind } of await sendTo(test, meet(test.phone, 20))) expect(kind).to.equal('accepted');
      expect(refusals() - before, 'refused').to.equal(addressing === 'lid' ? 0 : 1);
      expect(namespaceIn(test.keyStore)).to.equal(addressing);
    });
  }

  it('follows a network that has changed its mind: messages under way are each sent once more, one of them tries', async () => {
    const test = await openAs('pn');
    await sendTo(test, meet(test.phone, 1));
    sessions.simulator.network.accounts.ensure(test.phone).addressing = 'lid';
    const people = meet(test.phone, 10);
    for (const { kind } of await sendTo(test, people)) expect(kind).to.equal('accepted');
    expect(namespaceIn(test.keyStore)).to.equal('lid');
    const before = refusals();
    for (const { kind } of await sendTo(test, meet(test.phone, 3))) expect(kind).to.equal('accepted');
    expect(refusals()).to.equal(before);
    for (const to of people) expect(await eventually(() => shownTo(to))).to.equal(1);
  });

  it('moves to hidden identifiers when the phone says that it has migrated', async () => {
    const test = await openAs('pn');
    await sendTo(test, meet(test.phone, 1));
    await sessions.admin('PUT', `accounts/${test.phone}`, { addressing: 'lid' });
    await eventually(() => namespaceIn(test.keyStore) === 'lid');
    const before = refusals();
    for (const { kind } of await sendTo(test, meet(test.phone, 3))) expect(kind).to.equal('accepted');
    expect(refusals()).to.equal(before);
  });

  for (const told of ['lid', 'pn'] as const) {
    it(`is tried out by one message when only its phone has said it (${told}): a wrong word costs one refusal`, async () => {
      const test = await openAs(told);
      sessions.simulator.network.accounts.ensure(test.phone).addressing = told === 'lid' ? 'pn' : 'lid';
      const before = refusals();
      for (const { kind } of await sendTo(test, meet(test.phone, 10))) expect(kind).to.equal('accepted');
      expect(refusals() - before).to.equal(1);
      expect(namespaceIn(test.keyStore)).to.equal(told === 'lid' ? 'pn' : 'lid');
    });
  }

  it('is tried out by one message when the phone says another than the network has accepted', async () => {
    const test = await openAs('pn');
    await sendTo(test, meet(test.phone, 1));
    await sessions.admin('PUT', `accounts/${test.phone}`, { addressing: 'lid' });
    await eventually(() => namespaceIn(test.keyStore) === 'lid');
    sessions.simulator.network.accounts.ensure(test.phone).addressing = 'pn';
    const before = refusals();
    for (const { kind } of await sendTo(test, meet(test.phone, 10))) expect(kind).to.equal('accepted');
    expect(refusals() - before).to.equal(1);
    expect(namespaceIn(test.keyStore)).to.equal('pn');
  });

  /** What one source saw: such an account is refused by hidden identifier with 463, and its numbers are taken. */
  function refuseHiddenWith463({ phone }: Linked): void {
    sessions.simulator.network.accounts.ensure(phone).addressing = 'pn';
    sessions.fault('message', { ackError: 463 }, { match: { addressing: 'lid' }, count: 99 });
  }

  for (const knows of [true, false]) {
    const known = knows ? 'only its phone has said otherwise' : 'nothing is known';
    it(`is by number where hidden identifiers are refused with 463 and numbers are taken, when ${known}`, async () => {
      sessions.fault('iq', { error: 500 }, { match: { xmlns: 'abt' } });
      const test = await openAs(knows ? 'lid' : 'pn', { knows });
      refuseHiddenWith463(test);
      const before = refusals();
      for (const { kind } of await sendTo(test, meet(test.phone, 5))) expect(kind).to.equal('accepted');
      expect(refusals() - before).to.equal(1);
      expect(stateIn(test.keyStore)).to.deep.equal({ namespace: 'pn' });
    });
  }

  it('is still open after a message that was refused in both when nothing was known', async () => {
    sessions.fault('iq', { error: 500 }, { match: { xmlns: 'abt' } });
    const test = await openAs('pn', { knows: false });
    const [refused, later] = meet(test.phone, 2) as [string, string];
    sessions.fault('message', { ackError: 463 }, { match: { recipient: refused }, count: 2 });
    expect(await sendTo(test, [refused])).to.deep.equal([{ kind: 'restricted', code: 463 }]);
    expect(namespaceIn(test.keyStore)).to.equal('lid');
    await test.session.close();
    const { addressing, ...creds } = JSON.parse(test.keyStore.creds!);
    addressing.bothRefused.atMs -= 7 * 60 * 60_000;
    test.keyStore.creds = JSON.stringify({ ...creds, addressing });
    const rested = await sessions.open(test.keyStore);
    await rested.next('open');
    refuseHiddenWith463(test);
    expect((await sendTo({ ...rested, phone: test.phone }, [later]))[0]?.kind).to.equal('accepted');
    expect(namespaceIn(test.keyStore)).to.equal('pn');
  });

  it('is learnt within seconds when the network says nothing of its restrictions', async () => {
    const test = await openAs('pn');
    sessions.simulator.network.accounts.ensure(test.phone).addressing = 'lid';
    sessions.fault('iq', { silent: true }, { match: { xmlns: 'w:mex' }, count: 99 });
    const startedMs = performance.now();
    for (const { kind } of await sendTo(test, meet(test.phone, 2))) expect(kind).to.equal('accepted');
    expect(performance.now() - startedMs).to.be.below(4_500);
    expect(namespaceIn(test.keyStore)).to.equal('lid');
  });

  it('says nothing of a name that could not be tried, as the connection ended before', async () => {
    const { keyStore, phone } = await sessions.link(undefined, 'lid');
    const before = refusals();
    const assertMayWrite = () => {
      if (refusals() > before) throw new Error('another process owns the device');
    };
    const test = { ...(await sessions.open(keyStore, { assertMayWrite })), phone };
    await test.next('open');
    sessions.simulator.network.accounts.ensure(phone).addressing = 'pn';
    // The connection ends over the first frame that may not go out, which may be before the refusal is read.
    const [outcome] = await sendTo(test, meet(phone, 1));
    expect(outcome!.kind).to.be.oneOf(['refused', 'unacknowledged']);
    await test.next('closed');
    expect(stateIn(keyStore)).to.deep.equal({ namespace: 'lid', isTold: true });
  });

  it('is not doubted when the account is restricted: the refusal stands, and nothing else is tried', async () => {
    const test = await openAs('pn');
    await sendTo(test, meet(test.phone, 1));
    const restrictions = { reachoutLockedUntilMs: Date.now() + 3_600_000 };
    await sessions.admin('PUT', `accounts/${test.phone}`, { restrictions });
    const before = refusals();
    const [outcome] = await sendTo(test, makeNumbers(1));
    expect(outcome).to.deep.equal({ kind: 'restricted', code: 463 });
    expect(refusals() - before).to.equal(1);
    expect(namespaceIn(test.keyStore)).to.equal('pn');
  });

  it('is tried once only when the network refuses both: the next refusal is final at once', async () => {
    const test = await openAs('pn');
    const [first, second] = meet(test.phone, 2) as [string, string];
    const refuse = (recipient: string) =>
      sessions.fault('message', { ackError: 463 }, { match: { recipient }, count: 9 });
    refuse(first);
    const before = refusals();
    expect(await sendTo(test, [first])).to.deep.equal([{ kind: 'restricted', code: 463 }]);
    expect(refusals() - before, 'by both names').to.equal(2);
    refuse(second);
    expect(await sendTo(test, [second])).to.deep.equal([{ kind: 'restricted', code: 463 }]);
    expect(refusals() - before, 'by one').to.equal(3);
  });

  describe('of an account that cannot show strangers a token', () => {
    /** Keys without a salt, as those that another program has left. */
    async function openWithoutSalt({ knows }: { knows: boolean }): Promise<Linked> {
      const [number] = makeNumbers(1) as [string];
      sessions.simulator.network.accounts.ensure(number).hasSalt = false;
      const { keyStore } = await sessions.link(number, 'pn');
      const { addressing, ...creds } = JSON.parse(keyStore.creds!);
      keyStore.creds = JSON.stringify({ ...creds, hasHistory: true, ...(knows && { addressing }) });
      const test = await sessions.open(keyStore);
      await test.next('open');
      return { ...test, phone: number };
    }

    /** A person who has written, and so has given the account a token. */
    async function makeFriend({ phone, keyStore }: Linked): Promise<string> {
      const [friend] = makeNumbers(1) as [string];
      await sessions.admin('POST', `phones/${friend}/messages`, { to: phone, text: 'hi' });
      const lid = sessions.simulator.network.directory.jidOf(friend, 'lid');
      await eventually(() => keyStore.keys.has(`tctoken/${lid}`), { what: 'the token of a friend' });
      return friend;
    }

    it('is not decided by the refusal of a stranger: friends get their messages, also beside one', async () => {
      const test = await openWithoutSalt({ knows: false });
      const [friend, other] = [await makeFriend(test), await makeFriend(test)];
      const [stranger, last] = makeNumbers(2) as [string, string];
      const outcomes = await sendTo(test, [stranger, friend]);
      expect(outcomes.map(({ kind }) => kind)).to.deep.equal(['restricted', 'accepted']);
      expect(namespaceIn(test.keyStore)).to.equal('pn');
      const before = refusals();
      const later = await sendTo(test, [last, other]);
      expect(later.map(({ kind }) => kind)).to.deep.equal(['restricted', 'accepted']);
      expect(refusals() - before, 'no second name is tried for another stranger').to.equal(1);
    });

    it('follows a migration that was not told with the first message that shows a token', async () => {
      const test = await openWithoutSalt({ knows: true });
      const friend = await makeFriend(test);
      const [stranger] = makeNumbers(1) as [string];
      expect((await sendTo(test, [stranger]))[0]?.kind).to.equal('restricted');
      sessions.simulator.network.accounts.ensure(test.phone).addressing = 'lid';
      expect((await sendTo(test, [friend]))[0]?.kind).to.equal('accepted');
      expect(namespaceIn(test.keyStore)).to.equal('lid');
    });
  });

  it('asks once for the hidden identifier of a person who has a new one, and writes to that', async () => {
    const test = await openAs('lid');
    const [to] = meet(test.phone, 1) as [string];
    await sendTo(test, [to]);
    await sessions.admin('PUT', `phones/${to}`, { staleLid: true });
    const { counters } = sessions.simulator.network;
    const before = { ...counters };
    for (let i = 0; i < 4; i++) expect((await sendTo(test, [to]))[0]?.kind).to.equal('accepted');
    expect(counters.usyncQueries - before.usyncQueries, 'questions, also for what the next messages need').to.equal(1);
    expect(counters.staleLidSends, 'messages to the old one after that').to.equal(before.staleLidSends);
    const newLid = sessions.simulator.network.directory.jidOf(to, 'lid');
    expect(await test.session.hiddenIdOf(to)).to.equal(newLid);
    const rows = await eventually(async () => {
      const all = await sessions.messagesOf(to);
      return all.length === 5 && all;
    });
    for (const { shown } of rows) expect(shown).to.equal(1);
  });

  it('asks for it no more than once an hour, however often the network says that there is a new one', async () => {
    const test = await openAs('lid');
    const [to] = meet(test.phone, 1) as [string];
    await sendTo(test, [to]);
    const { counters } = sessions.simulator.network;
    const sendToStale = async () => {
      await sessions.admin('PUT', `phones/${to}`, { staleLid: true });
      expect((await sendTo(test, [to]))[0]?.kind).to.equal('accepted');
    };
    const before = counters.usyncQueries;
    await sendToStale();
    await eventually(() => counters.usyncQueries > before, { what: 'the question for the new one' });
    await sendTo(test, [to]);
    const asked = counters.usyncQueries;
    for (let i = 0; i < 3; i++) await sendToStale();
    await sendTo(test, [to]);
    expect(counters.usyncQueries, 'questions within the hour').to.equal(asked);
  });

  async function shownTo(number: string): Promise<number | undefined> {
    const rows = await sessions.messagesOf(number);
    return rows.reduce((sum, { shown }) => sum + shown, 0) || undefined;
  }
});
