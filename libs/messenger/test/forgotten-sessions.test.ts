import { contactOfSession } from '@gateway/messenger/keys/contact-of-session';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import type { MemoryKeyStore } from './support/memory-key-store.js';
import { makeNumbers, makePlatformId, type TestSession, useSessions } from './support/session-fixture.js';

describe('a contact whose session was forgotten', () => {
  const sessions = useSessions();

  /** What is left of a device's keys when all its contacts were silent for long. */
  function forgetContacts({ keys }: MemoryKeyStore): void {
    for (const name of [...keys.keys()]) {
      const [type, id] = name.split('/') as [string, string];
      if (type === 'session' && contactOfSession(id)) keys.delete(name);
      if (type === 'identity-key' || type === 'tctoken') keys.delete(name);
    }
  }
  async function send(by: TestSession, to: string, text: string): Promise<string> {
    const { ack } = await by.session.send({ to, platformId: makePlatformId(), content: { kind: 'text', text } });
    return (await ack).kind;
  }
  const textsOf = async (phone: string) =>
    (await sessions.messagesOf(phone)).filter(({ shown }) => shown === 1).map(({ text }) => text);

  it('reads the next message, and is understood when they write', async () => {
    const { keyStore, phone } = await sessions.link();
    const [to] = makeNumbers(1) as [string];
    const write = (text: string) =>
      sessions.admin('POST', `phones/${to}/messages`, JSON.stringify({ to: phone, text }));
    const first = await sessions.open(keyStore);
    await first.next('open');
    await first.session.historyTaken;
    expect(await send(first, to, 'hello')).to.equal('accepted');
    await write('hello yourself');
    expect(await first.next('message')).to.include({ phone: to, text: 'hello yourself' });
    await first.session.close();

    forgetContacts(keyStore);
    const second = await sessions.open(keyStore, { caches: createSessionCaches() });
    await second.next('open');
    await write('STOP');
    expect(await second.next('message')).to.include({ phone: to, text: 'STOP' });
    await second.session.close();

    forgetContacts(keyStore);
    const third = await sessions.open(keyStore, { caches: createSessionCaches() });
    await third.next('open');
    expect(await send(third, to, 'long ago')).to.equal('accepted');
    await eventually(async () => (await textsOf(to)).length === 2);
    expect(await textsOf(to)).to.deep.equal(['hello', 'long ago']);
  });
});
