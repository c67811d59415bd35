import type { Logger } from '@gateway/runtime/logger';
import { type BinaryNode, node } from '@gateway/simulator/wire/nodes';
import { expect } from 'chai';
import { useResends } from './support/resend-fixture.js';
import { makeNumbers, makePlatformId, useSessions } from './support/session-fixture.js';

describe('a message that a phone asks for again', () => {
  const sessions = useSessions();
  const { network, mailboxOf, openAnew, sendUnreadable, shown, allConfirmed } = useResends(sessions);

  it('is shown after a hand-over, and nothing of it is refused, where the account writes by number', async () => {
    const device = await sessions.link(undefined, 'pn');
    const [to] = makeNumbers(1) as [string];
    const platformId = await sendUnreadable(device, to);
    const { refusedStanzas } = network().counters;
    const test = await openAnew(device);
    expect(await shown(to, platformId)).to.include({ text: 'hello', shown: 1 });
    await allConfirmed(device.phone);
    expect(network().counters.refusedStanzas).to.equal(refusedStanzas);
    expect(test.reports.filter(({ event }) => event === 'lateRefusal')).to.deep.equal([]);
  });

  it('goes out a bounded number of times to one contact in an hour, over hand-overs too', async () => {
    const device = await sessions.link();
    const [to] = makeNumbers(1) as [string];
    const lines: string[] = [];
    const warn = (line: string, fields?: object) => void lines.push(`${line} ${JSON.stringify(fields ?? {})}`);
    const quiet = () => {};
    const logger: Logger = { debug: quiet, info: quiet, warn, error: quiet, child: () => logger };
    const asked: string[] = [];
    const getMessage = async (id: string) => {
      asked.push(id);
      return undefined;
    };
    const askFor = async (count: number) => {
      for (let each = 0; each < count; each += 1) mailboxOf(device.phone).post(requestOf(to));
      await allConfirmed(device.phone);
    };
    const requestOf = (by: string): BinaryNode => {
      const id = makePlatformId();
      const attrs = { id, from: network().directory.jidOf(by, 'lid'), type: 'retry', t: '1700000000' };
      return node('receipt', attrs, [node('retry', { count: '1', id, t: '1700000000', v: '1' })]);
    };
    const first = await openAnew(device, { getMessage, logger });
    await askFor(23);
    expect(asked).to.have.length(20);
    expect(lines.filter((line) => line.includes('too often'))).to.have.length(1);
    expect(lines.join(), 'no numbers').not.to.match(/\d{7}/);
    await first.session.close();
    await openAnew(device, { getMessage, logger });
    await askFor(2);
    expect(asked, 'after a hand-over').to.have.length(20);
  });
});
