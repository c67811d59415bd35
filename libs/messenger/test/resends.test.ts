import type { ReadyContent } from '@gateway/contracts/message-content';
import { createSessionCaches } from '@gateway/messenger/session-caches';
import type { Logger } from '@gateway/runtime/logger';
import { type BinaryNode, node } from '@gateway/simulator/wire/nodes';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { type Device, makeNumbers, makePlatformId, type TestSession, useSessions } from './support/session-fixture.js';

describe('a message that a phone asks for again', () => {
  const sessions = useSessions();
  const network = () => sessions.simulator.network;
  const getMessage = async (): Promise<ReadyContent> => ({ kind: 'text', text: 'hello' });
  const deviceOf = (phone: string) => [...network().accounts.ensure(phone).devices.values()][0]!;

  async function openAnew(device: Device, changes = {}): Promise<TestSession> {
    const test = await sessions.open(device.keyStore, { getMessage, caches: createSessionCaches(), ...changes });
    await test.next('open');
    return test;
  }

  async function send({ session }: TestSession, to: string, platformId = makePlatformId()): Promise<string> {
    const { ack } = await session.send({ to, platformId, content: { kind: 'text', text: 'hello' } });
    await ack;
    return platformId;
  }

  /** The phone cannot read it and asks when the connection is gone: what is known of its devices is forgotten by then. */
  async function sendUnreadable(device: Device, to: string): Promise<string> {
    const test = await openAnew(device);
    await send(test, to);
    await sessions.admin('POST', `phones/${to}/reinstall`);
    const { retryReceipts } = network().counters;
    sessions.fault('message', { closeBeforeAck: true }, { match: { recipient: to } });
    const platformId = await send(test, to);
    await test.next('closed');
    await eventually(() => network().counters.retryReceipts > retryReceipts);
    return platformId;
  }

  const shown = async (to: string, id: string) =>
    (await sessions.messagesOf(to)).find((row) => row.id === id && row.shown > 0);

  for (const addressing of ['lid', 'pn'] as const) {
    it(`is shown after a hand-over, and nothing of it is refused (${addressing})`, async () => {
      const device = await sessions.link(undefined, addressing);
      const [to] = makeNumbers(1) as [string];
      const platformId = await sendUnreadable(device, to);
      const { refusedStanzas } = network().counters;
      const test = await openAnew(device);
      expect(await eventually(() => shown(to, platformId))).to.include({ text: 'hello', shown: 1 });
      // Also the request itself: confirmed under the name that it came under.
      await eventually(() => deviceOf(device.phone).mailbox.size === 0, { what: 'everything is confirmed' });
      expect(network().counters.refusedStanzas).to.equal(refusedStanzas);
      expect(test.reports.filter(({ event }) => event === 'lateRefusal')).to.deep.equal([]);
    });
  }

  it('is read by the computer that asks for it, too (pn)', async () => {
    const [from, to] = [await sessions.link(undefined, 'pn'), await sessions.link(undefined, 'pn')];
    const [writer, reader] = [await openAnew(from), await openAnew(to)];
    const heard = new Set<string>();
    const hear = ({ options }: TestSession) =>
      Object.assign(options.events, { onMessage: ({ platformId }: { platformId: string }) => heard.add(platformId) });
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

  it('goes out a bounded number of times to one contact in an hour, over hand-overs too', async () => {
    const device = await sessions.link();
    const [to] = makeNumbers(1) as [string];
    const lines: string[] = [];
    const warn = (line: string, fields?: object) => void lines.push(`${line} ${JSON.stringify(fields ?? {})}`);
    const quiet = () => {};
    const logger: Logger = { debug: quiet, info: quiet, warn, error: quiet, child: () => logger };
    const asked: string[] = [];
    const counting = async (id: string) => {
      asked.push(id);
      return undefined;
    };
    const askFor = async (count: number) => {
      const { mailbox } = deviceOf(device.phone);
      for (let each = 0; each < count; each += 1) mailbox.post(retryReceipt(to));
      await eventually(() => mailbox.size === 0, { what: 'all are confirmed' });
    };
    const retryReceipt = (by: string): BinaryNode => {
      const id = makePlatformId();
      const attrs = { id, from: network().directory.jidOf(by, 'lid'), type: 'retry', t: '1700000000' };
      return node('receipt', attrs, [node('retry', { count: '1', id, t: '1700000000', v: '1' })]);
    };
    const first = await openAnew(device, { getMessage: counting, logger });
    await askFor(23);
    expect(asked).to.have.length(20);
    expect(lines.filter((line) => line.includes('too often'))).to.have.length(1);
    expect(lines.join(), 'no numbers').not.to.match(/\d{7}/);
    await first.session.close();
    await openAnew(device, { getMessage: counting, logger });
    await askFor(2);
    expect(asked, 'after a hand-over').to.have.length(20);
  });
});
