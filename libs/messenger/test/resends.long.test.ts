import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useResends } from './support/resend-fixture.js';
import { makeNumbers, type TestSession, useSessions } from './support/session-fixture.js';

describe('messages that devices ask for again', () => {
  const sessions = useSessions();
  const { network, openAnew, send, sendUnreadable, shown, allConfirmed } = useResends(sessions);

  it('are shown after a hand-over (lid), also when a session without messages was there in between', async () => {
    const device = await sessions.link();
    const [to] = makeNumbers(1) as [string];
    const platformId = await sendUnreadable(device, to);
    const { refusedStanzas } = network().counters;
    const between = await openAnew(device, { getMessage: undefined });
    await between.session.caughtUp;
    // What it would have confirmed is confirmed by the answer.
    await between.session.lookUp(makeNumbers(1));
    await between.session.close();
    await openAnew(device);
    const row = await shown(to, platformId);
    expect(row).to.include({ text: 'hello', shown: 1 });
    expect((row as { details?: object }).details ?? {}, 'says to which number it is').not.to.have.property(
      'unknownUser',
    );
    await allConfirmed(device.phone);
    expect(network().counters.refusedStanzas).to.equal(refusedStanzas);
  });

  it('are read by the computer that asks for them (pn)', async () => {
    const [from, to] = [await sessions.link(undefined, 'pn'), await sessions.link(undefined, 'pn')];
    const [writer, reader] = [await openAnew(from), await openAnew(to)];
    const heard = new Set<string>();
    const hear = ({ handlers }: TestSession) =>
      Object.assign(handlers, { message: ({ platformId }: { platformId: string }) => heard.add(platformId) });
    hear(reader);
    const first = await send(writer, to.phone);
    await eventually(() => heard.has(first));
    await Promise.all([writer, reader].map(({ session }) => session.close()));
    // What a computer lacks that was set up from an old copy.
    for (const key of [...to.keyStore.keys.keys()]) if (key.startsWith('session/')) to.keyStore.keys.delete(key);
    const [writerAgain, readerAgain] = [await openAnew(from), await openAnew(to)];
    hear(readerAgain);
    const { retryResends, refusedStanzas } = network().counters;
    const second = await send(writerAgain, to.phone);
    await eventually(() => heard.has(second));
    expect(network().counters.retryResends).to.equal(retryResends + 1);
    expect(network().counters.refusedStanzas).to.equal(refusedStanzas);
  });

  for (const addressing of ['lid', 'pn'] as const) {
    it(`are read by the own phone, too, whose copy is said to be one (${addressing})`, async () => {
      const device = await sessions.link(undefined, addressing);
      const [to] = makeNumbers(1) as [string];
      const writer = await openAnew(device);
      await send(writer, to);
      const ownCopies = () => network().phones.phone(device.phone).ownCopies;
      await eventually(() => ownCopies() === 1, { what: 'a copy' });
      await sessions.admin('POST', `phones/${device.phone}/reinstall`);
      const { retryResends, refusedStanzas } = network().counters;
      await send(writer, to);
      await eventually(() => ownCopies() === 2, { what: 'a second copy' });
      expect(network().counters.retryResends).to.equal(retryResends + 1);
      expect(network().counters.refusedStanzas).to.equal(refusedStanzas);
    });
  }
});
