import { expect } from 'chai';
import { makeNumbers, makePlatformId, useSessions } from './support/session-fixture.js';

describe('lookups that the network refuses', () => {
  const sessions = useSessions();

  it('say nothing about whether a number is on the messenger, and are not remembered', async () => {
    const { session, options } = await sessions.openLinked({ leftOut: new Set(['lookUpByNumber'] as const) });
    const [first, number] = makeNumbers(2) as [string, string];
    await session.lookUp([first]);
    sessions.fault('iq', { error: 406 }, { match: { xmlns: 'usync' } });
    expect((await session.lookUp([number])).get(number)).to.deep.equal({ error: 406 });
    expect(options.caches.contacts.has(number)).to.equal(false);
    expect((await session.lookUp([number])).get(number)).to.deep.equal({ exists: true });
  });

  it('fail ten of a hundred, and at the second attempt none of their neighbours', async () => {
    const { session } = await sessions.openLinked();
    const numbers = makeNumbers(100);
    const bad = numbers.filter((_, index) => index % 10 === 3);
    for (const number of bad) await sessions.admin('PUT', `phones/${number}`, { badKeys: true });
    await session.lookUp(numbers);
    const results = await session.lookUp(numbers);
    const failed = numbers.filter((number) => 'error' in results.get(number)!);
    expect(failed).to.deep.equal(bad);
  });

  for (const badKeys of [true, 'leftOut'] as const) {
    it(`of the account's own phone (${badKeys}) keep no message back: it gets no copy, and that is all`, async () => {
      const { keyStore, phone } = await sessions.link();
      // A phone that has written has a session.
      const backlog = { isHistoryWithheld: true };
      await sessions.admin('PUT', `accounts/${phone}`, { backlog, tokensRequired: false });
      await sessions.admin('PUT', `phones/${phone}`, { badKeys });
      const { session, next } = await sessions.open(keyStore);
      await next('open');
      const [to] = makeNumbers(1) as [string];
      await session.lookUp([to]);
      const content = { kind: 'text', text: 'hello' } as const;
      const { ack } = await session.send({ to, platformId: makePlatformId(), content });
      expect(await ack).to.include({ kind: 'accepted' });
      expect(await sessions.messagesOf(to)).to.have.length(1);
    });
  }
});
