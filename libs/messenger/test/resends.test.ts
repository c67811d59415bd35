import type { ReadyContent } from '@gateway/contracts/content/message-content';
import type { Logger } from '@gateway/runtime/logs/logger';
import { type BinaryNode, node } from '@gateway/simulator/wire/nodes';
import { eventually } from '@gateway/testkit/eventually';
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
    const asked = new Set<string>();
    const getMessage = async (id: string): Promise<ReadyContent> => {
      asked.add(id);
      return { kind: 'text', text: 'hello' };
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
    const recipientOf = async () => to;
    const first = await openAnew(device, { getMessage, recipientOf, logger });
    await askFor(23);
    expect(asked.size).to.equal(20);
    expect(lines.filter((line) => line.includes('too many retry requests'))).to.have.length(1);
    expect(lines.join(), 'no numbers').not.to.match(/\d{7}/);
    await first.session.close();
    await openAnew(device, { getMessage, recipientOf, logger });
    await askFor(2);
    expect(asked.size, 'after a hand-over').to.equal(20);
  });

  it('is counted for a person until they are to be forgotten', async () => {
    const device = await sessions.link();
    const [to] = makeNumbers(1) as [string];
    await sendUnreadable(device, to);
    const test = await openAnew(device);
    const isCounted = () => JSON.stringify(JSON.parse(device.keyStore.creds!).resends ?? '').includes(to);
    await eventually(isCounted);
    await test.session.forgetResends(new Set(['4917000000000', to]));
    expect(isCounted()).to.equal(false);
    await test.session.close();
    await test.session.forgetResends(new Set([to]));
    expect(isCounted(), 'nor written again at the end').to.equal(false);
  });

  it('goes out although phones and groups have asked for hundreds that never were', async () => {
    const device = await sessions.link();
    const people = makeNumbers(11);
    const to = people.pop()!;
    const asked: string[] = [];
    const recipientOf = async (id: string) => {
      asked.push(id);
      return undefined;
    };
    const test = await openAnew(device, { recipientOf });
    await test.session.caughtUp;
    const { usyncQueries } = network().counters;
    for (const [index, person] of people.entries()) {
      mailboxOf(device.phone).post(requestFor(20, `1203630000000000${index}@g.us`));
      mailboxOf(device.phone).post(requestFor(20, network().directory.jidOf(person, 'lid')));
    }
    mailboxOf(device.phone).post(requestFor(20, 'status@broadcast'));
    await allConfirmed(device.phone);
    expect(asked, 'for people only').to.have.length(200);
    expect(network().counters.usyncQueries, 'no person is looked up').to.equal(usyncQueries);
    await test.session.close();
    const platformId = await sendUnreadable(device, to);
    await openAnew(device);
    expect(await shown(to, platformId)).to.include({ text: 'hello', shown: 1 });
  });
});

function requestFor(count: number, from: string): BinaryNode {
  const [id, ...others] = Array.from({ length: count }, makePlatformId);
  const items = others.map((each) => node('item', { id: each }));
  const attrs = { id: id!, from, type: 'retry', t: '1700000000' };
  return node('receipt', attrs, [
    node('list', {}, items),
    node('retry', { count: '1', id: id!, t: '1700000000', v: '1' }),
  ]);
}
