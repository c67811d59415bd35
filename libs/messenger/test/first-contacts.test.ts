import type { HistoryCreds } from '@gateway/messenger/history/own-creds';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import type { MemoryKeyStore } from './support/memory-key-store.js';
import { type Device, makeNumbers, makePlatformId, type TestSession, useSessions } from './support/session-fixture.js';

describe('messages to strangers, and the salt that they need', () => {
  const sessions = useSessions();
  const change = (number: string, body: object) => sessions.admin('PUT', `accounts/${number}`, body);
  const credsOf = (keyStore: MemoryKeyStore) => JSON.parse(keyStore.creds!) as HistoryCreds;
  function changeCreds(keyStore: MemoryKeyStore, changes: Partial<HistoryCreds>): void {
    keyStore.creds = JSON.stringify({ ...credsOf(keyStore), ...changes });
  }

  async function linkTalking(account: string, rules: object): Promise<Device> {
    await change(account, rules);
    return sessions.link(account);
  }
  /** The network has said by then that it wants tokens. */
  async function open(keyStore: MemoryKeyStore): Promise<TestSession> {
    const test = await sessions.open(keyStore, { caches: createSessionCaches() });
    await test.next('open');
    await eventually(() => credsOf(test.keyStore).showsTokens?.made === true);
    return test;
  }
  async function send({ session }: TestSession, to: string): Promise<string> {
    const content = { kind: 'text' as const, text: 'hello' };
    const { ack } = await session.send({ to, platformId: makePlatformId(), content });
    return (await ack).kind;
  }
  const lateHistory = { backlog: { isHistoryWithheld: true } };

  it('wait for the history after the linking, over reconnects, and for nothing once it came', async () => {
    const [account, stranger, friend] = makeNumbers(3) as [string, string, string];
    const { keyStore } = await linkTalking(account, lateHistory);
    const first = await open(keyStore);
    expect(first.session.firstContacts).to.equal('awaitingHistory');
    await first.session.close();
    changeCreds(keyStore, { loginCounter: 7 } as object);
    const test = await open(keyStore);
    expect(test.session.firstContacts, 'after a reconnect').to.equal('awaitingHistory');

    await sessions.admin('POST', `phones/${friend}/messages`, { to: account, text: 'hi' });
    await eventually(async () => (await test.session.findGivers([friend, stranger])).has(friend));
    expect([...(await test.session.findGivers([friend, stranger, account]))]).to.deep.equal([friend, account]);
    const startedMs = performance.now();
    expect(await send(test, friend)).to.equal('accepted');
    expect(performance.now() - startedMs).to.be.lessThan(1_000);

    await change(account, { backlog: { isHistoryWithheld: false } });
    await test.session.historyTaken;
    expect(test.session.firstContacts).to.equal('open');
    expect(await send(test, stranger)).to.equal('accepted');
  });

  it('wait for a bounded time, and not at all with the keys of another program', async () => {
    const [account] = makeNumbers(1) as [string];
    const { keyStore } = await linkTalking(account, lateHistory);
    const { linkedAtMs } = credsOf(keyStore);
    expect(linkedAtMs).to.be.closeTo(Date.now(), 10_000);
    changeCreds(keyStore, { linkedAtMs: linkedAtMs! - 121_000 });
    const late = await open(keyStore);
    expect(late.session.firstContacts).to.equal('open');
    await late.session.close();

    const { linkedAtMs: _, ...imported } = credsOf(keyStore);
    keyStore.creds = JSON.stringify(imported);
    const { session } = await open(keyStore);
    expect(session.firstContacts).to.equal('open');
  });

  it('are refused in a row without a salt: the third says so for all, also to the next session, until one is accepted', async () => {
    const [account, friend, ...strangers] = makeNumbers(6) as [string, string, ...string[]];
    const { keyStore } = await linkTalking(account, { hasSalt: false });
    const test = await open(keyStore);
    await test.session.historyTaken;
    await sessions.admin('POST', `phones/${friend}/messages`, { to: account, text: 'hi' });
    await eventually(async () => (await test.session.findGivers([friend])).has(friend));
    for (const [i, stranger] of strangers.slice(0, 3).entries()) {
      expect(test.session.firstContacts, `after ${i}`).to.equal('open');
      expect(await send(test, stranger)).to.equal('restricted');
      await test.session.noteRefusal(stranger);
      await test.session.noteRefusal(friend);
      expect(await send(test, friend), 'does not end the row').to.equal('accepted');
    }
    expect(test.session.firstContacts).to.equal('refused');
    await test.session.close();
    const next = await open(keyStore);
    expect(next.session.firstContacts, 'next session').to.equal('refused');
    await change(account, { tokensRequired: false });
    expect(await send(next, strangers[3]!)).to.equal('accepted');
    expect(next.session.firstContacts).to.equal('open');
  });
});
