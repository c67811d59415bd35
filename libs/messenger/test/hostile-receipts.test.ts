import type { ReadyContent } from '@gateway/contracts/content/message-content';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { Recipients } from '@gateway/messenger/sending/recipients';
import { makePhoneBundle, retryKeysNode } from '@gateway/simulator/phones/key-bundle';
import { type BinaryNode, node } from '@gateway/simulator/wire/nodes';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { WebSocket } from 'ws';
import { useResends } from './support/resend-fixture.js';
import { type Device, makeNumbers, makePlatformId, type TestSession, useSessions } from './support/session-fixture.js';
import { watchTurns } from './support/watch-turns.js';

/** A phone that has learned the id of a message to someone else. */
describe('a phone that speaks of messages to others', () => {
  const sessions = useSessions();
  const { network, mailboxOf, openAnew, send, sentTo, shown, allConfirmed } = useResends(sessions);
  let device: Device;
  let test: TestSession;
  let to: string;
  let thief: string;

  before(async () => {
    device = await sessions.link();
  });
  beforeEach(async () => {
    [to, thief] = makeNumbers(2) as [string, string];
    test = await openAnew(device);
    // Someone whom the account knows by both names, with a session.
    await send(test, thief);
  });
  afterEach(() => test.session.close());

  const jidOf = (person: string, deviceId = 0) => network().directory.jidOf(person, 'lid', deviceId);
  const post = (receipt: BinaryNode) => mailboxOf(device.phone).post(receipt);
  const written = () => network().counters.acceptedStanzas + network().counters.refusedStanzas;
  const stamps = { t: '1700000000' };
  const retryOf = (
    from: string,
    id: string,
    more: { ids?: string[]; attrs?: Record<string, string>; keysOf?: string } = {},
  ): BinaryNode => {
    const items = (more.ids ?? []).map((each) => node('item', { id: each }));
    return node('receipt', { id, from, type: 'retry', ...stamps, ...more.attrs }, [
      node('list', {}, items),
      node('retry', { count: '1', id, v: '1', ...stamps }),
      node('registration', {}, Buffer.from([0, 0, 1, 1])),
      ...(more.keysOf ? [retryKeysNode(makePhoneBundle(network().phones.keyring, more.keysOf))] : []),
    ]);
  };
  const readOf = (from: string, id: string) => node('receipt', { id, from, type: 'read', ...stamps });
  const idsRead = () =>
    test.reports.flatMap((report) =>
      report.event === 'receipt' && report.value.kind === 'read' ? report.value.platformIds : [],
    );
  const seenBy = async (person: string) => (await sessions.messagesOf(person)).map(({ id }) => id);

  it('gets none of them, however it asks', async () => {
    const ofOther = await send(test, to);
    await eventually(async () => (await seenBy(to)).includes(ofOther));
    const own = await send(test, thief);
    const { retryResends } = network().counters;
    const before = written();
    post(retryOf(jidOf(thief), ofOther));
    post(retryOf(jidOf(thief), makePlatformId(), { ids: [ofOther] }));
    post(retryOf(jidOf(thief), own, { ids: [ofOther] }));
    // In the name of the recipient, and with itself as the one who asks.
    post(retryOf(jidOf(to), ofOther, { attrs: { participant: jidOf(thief) } }));
    await allConfirmed(device.phone);
    expect(network().counters.retryResends).to.equal(retryResends);
    expect(written(), 'nothing is encrypted').to.equal(before);
    expect(await seenBy(thief)).to.not.include(ofOther);
  });

  it('gets none as a device that the recipient does not have, and the network is asked about it once', async () => {
    const id = await send(test, to);
    const before = written();
    const { usyncQueries } = network().counters;
    for (let each = 0; each < 5; each += 1) post(retryOf(jidOf(to, 7), id));
    await allConfirmed(device.phone);
    expect(written()).to.equal(before);
    expect(network().counters.usyncQueries - usyncQueries).to.be.within(1, 2);
  });

  it('gets none as a device that our own account does not have', async () => {
    const id = await send(test, to);
    const { retryResends } = network().counters;
    const before = written();
    const recipient = jidOf(to);
    post(retryOf(jidOf(device.phone, 33), id, { attrs: { recipient }, keysOf: thief }));
    await allConfirmed(device.phone);
    expect(written()).to.equal(before);
    post(retryOf(jidOf(device.phone), id, { attrs: { recipient } }));
    await eventually(() => network().counters.retryResends > retryResends, {
      what: 'the phone of the account gets it',
    });
  });

  it('keeps no new device of the recipient from asking', async () => {
    const id = await send(test, to);
    post(retryOf(jidOf(thief), id));
    await allConfirmed(device.phone);
    await sessions.link(to);
    const [computer] = network().accounts.find(to)!.devices.keys();
    const { retryResends } = network().counters;
    post(retryOf(jidOf(to, computer), id));
    await eventually(() => network().counters.retryResends > retryResends);
  });

  it('still gets its own again', async () => {
    await sessions.admin('POST', `phones/${thief}/reinstall`);
    const own = await send(test, thief);
    expect(await shown(thief, own)).to.include({ text: 'hello', shown: 1 });
  });

  it('does not make them read; one whose name is not known does, and so does the recipient', async () => {
    const [first, second, third] = [makePlatformId(), makePlatformId(), makePlatformId()];
    await send(test, to);
    for (const id of [first, second, third]) sentTo.set(id, to);
    post(readOf(jidOf(thief), first));
    post(readOf('99999999999999@lid', second));
    post(readOf(jidOf(to), third));
    await allConfirmed(device.phone);
    await eventually(() => idsRead().includes(third));
    expect(idsRead()).to.include(second).and.not.include(first);
  });

  const floods: [string, number, number][] = [
    ['one receipt', 1, 10_000],
    ['many receipts', 90, 250],
    ['very many receipts', 1_000, 20],
  ];
  for (const [how, receipts, each] of floods) {
    it(`names thousands of messages in ${how}, and others go on meanwhile`, async function () {
      // Of CPU of the whole process: garbage that other tests left may be collected in it.
      this.retries(2);
      const ids = platformIds(Buffer.alloc(16, 7));
      const recipients = new Recipients({
        caches: createSessionCaches(),
        recipientOf: async (id: string) => ids.parse(id) && '4917',
      } as unknown as ConstructorParameters<typeof Recipients>[0]);
      const named = Array.from({ length: receipts }, () => Array.from({ length: each }, makePlatformId));
      const turns = watchTurns();
      const found = await Promise.all(named.map((receipt) => recipients.of(receipt)));
      const { count, longestMs } = turns.stop();
      expect(found.every(({ size }) => size === each)).to.equal(true);
      expect(count).to.be.above((receipts * each) / 1_000);
      expect(longestMs, 'ms of CPU').to.be.below(250);
    });
  }

  it('says so much at once that it is heard in several turns of the event loop', async () => {
    const { pause } = WebSocket.prototype;
    let pauses = 0;
    WebSocket.prototype.pause = function (this: WebSocket) {
      pauses++;
      pause.call(this);
    };
    const ids = Array.from({ length: 20 }, makePlatformId).map((id) => node('item', { id }));
    for (let each = 0; each < 2_000; each++) {
      post(
        node('receipt', { id: makePlatformId(), from: jidOf(thief), type: 'read', ...stamps }, [node('list', {}, ids)]),
      );
    }
    await allConfirmed(device.phone);
    WebSocket.prototype.pause = pause;
    expect(pauses).to.be.above(1);
  });

  it('is compared with what went out lately without a look into Redis', async () => {
    const asked: string[] = [];
    const other = await openAnew(device, { recipientOf: async (id) => void asked.push(id) as undefined });
    const id = await send(other, to);
    await eventually(() =>
      other.reports.some(({ event, value }) => event === 'receipt' && value.platformIds.includes(id)),
    );
    expect(asked).to.not.include(id);
    await other.session.close();
  });

  it('costs nothing for ids that no message has', async () => {
    const asked: string[] = [];
    const getMessage = async (id: string): Promise<ReadyContent | undefined> => void asked.push(id) as undefined;
    const other = await openAnew(device, { getMessage });
    const { usyncQueries } = network().counters;
    const madeUp = Array.from({ length: 20 }, makePlatformId);
    for (const id of madeUp) {
      post(retryOf(jidOf(thief), id));
      post(readOf(jidOf(thief), id));
    }
    await allConfirmed(device.phone);
    expect(asked, 'no content is read').to.deep.equal([]);
    expect(network().counters.usyncQueries).to.equal(usyncQueries);
    const reported = other.reports.flatMap(({ event, value }) => (event === 'receipt' ? value.platformIds : []));
    expect(reported.filter((id) => madeUp.includes(id))).to.deep.equal([]);
    await other.session.close();
  });
});
