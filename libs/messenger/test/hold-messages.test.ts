import type { IncomingMessage } from '@gateway/messenger/session/session-events';
import { defer } from '@gateway/runtime/deferred';
import { node } from '@gateway/simulator/wire/nodes';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { type Device, makeNumbers, type TestSession, useSessions } from './support/session-fixture.js';

describe('receiving a message', () => {
  const sessions = useSessions();
  let device: Device;
  let friend: string;

  beforeEach(async () => {
    device = await sessions.link();
    [friend] = makeNumbers(1) as [string];
  });

  /** Logs in, and takes messages with `onMessage`. */
  async function open(onMessage?: (message: IncomingMessage) => void | Promise<void>): Promise<TestSession> {
    const test = await sessions.open(device.keyStore);
    if (onMessage) test.handlers.message = onMessage;
    await test.next('open');
    return test;
  }
  const write = async (text: string, how: { addressing?: 'pn' | 'lid'; id?: string } = {}): Promise<string> => {
    const path = `phones/${friend}/messages`;
    return (await sessions.admin<{ id: string }>('POST', path, { to: device.phone, text, ...how })).id;
  };
  /** Whether the network still has a message, to say it again at the next login. */
  function isKept(id: string): boolean {
    const [linked] = sessions.simulator.network.accounts.ensure(device.phone).devices.values();
    return linked!.mailbox.save().some(({ attrs }) => attrs.id === id);
  }
  const textsOf = ({ reports }: TestSession) =>
    reports.flatMap((report) => (report.event === 'message' ? [report.value.text] : []));

  it('tells who wrote what, and when', async () => {
    const test = await open();
    const id = await write('are you open on Sunday?');
    const message = await test.next('message');
    expect(message).to.include({ platformId: id, phone: friend, text: 'are you open on Sunday?' });
    expect(message.atMs).to.be.closeTo(Date.now(), 5_000);
    await eventually(() => !isKept(id));
  });

  it('tells in its turn that there was something which only the phone gets, as a picture that may be seen once', async () => {
    const written = defer<void>();
    const heard: IncomingMessage[] = [];
    const { session } = await open((message) => {
      heard.push(message);
      return written.promise;
    });
    await write('here it comes');
    const attrs = { from: `${friend}@s.whatsapp.net`, type: 'media', notify: 'Ann', t: '1800000000' };
    const [linked] = sessions.simulator.network.accounts.ensure(device.phone).devices.values();
    linked!.mailbox.post(node('message', { ...attrs, id: '3AONCE' }, [node('unavailable', { type: 'view_once' })]));
    await eventually(() => heard.length === 1);
    // Its answer comes after what the network has sent before.
    await session.lookUp(makeNumbers(1));
    expect(heard.map(({ text }) => text)).to.deep.equal(['here it comes']);
    expect(isKept('3AONCE')).to.equal(true);
    written.resolve();
    await eventually(() => !isKept('3AONCE'));
    const what = { platformId: '3AONCE', phone: friend, name: 'Ann', text: '', atMs: 1_800_000_000_000 };
    expect(heard[1]).to.deep.include({ ...what, content: { type: 'unsupported' } });
    expect(heard).to.have.length(2);
  });

  for (const [server, jid] of [
    ['hosted', '447700900124@s.whatsapp.net'],
    ['hosted.lid', '447700900124@lid'],
  ])
    it(`comes from the same person where their device is at the network's own servers (${server})`, async () => {
      const test = await open();
      const attrs = { id: '3AHOST', from: `447700900124:99@${server}`, type: 'media', t: '1800000000' };
      const [linked] = sessions.simulator.network.accounts.ensure(device.phone).devices.values();
      linked!.mailbox.post(node('message', attrs, [node('unavailable', { type: 'view_once' })]));
      const { phone, hiddenId, jid: writer } = await test.next('message');
      expect(writer).to.equal(jid);
      expect([phone, hiddenId]).to.include(server === 'hosted' ? '447700900124' : jid);
    });

  it('comes from the number of a person who writes under their hidden identifier', async () => {
    const test = await open();
    await write('STOP', { addressing: 'lid' });
    const { phone, jid, isPhoneStored } = await test.next('message');
    expect(phone).to.equal(friend);
    expect(isPhoneStored, 'the stanza says it').to.equal(undefined);
    expect(jid).to.match(/@lid$/);
  });

  it('comes also from a person whose number the network does not tell', async () => {
    const test = await open();
    friend = 'lid:144000000000099';
    const id = await write('STOP');
    const message = await test.next('message');
    const hiddenId = '144000000000099@lid';
    expect(message).to.include({ text: 'STOP', hiddenId, jid: hiddenId });
    expect(message).not.to.have.property('phone');
    await eventually(() => !isKept(id));
  });

  it('says once it is written down that its writer may be the person whom the keys have by a number', async () => {
    const { keys } = device.keyStore;
    keys.set('lid-mapping/144000000000098_reverse', Buffer.from('"4917099"'));
    keys.set('lid-mapping/4917099', Buffer.from('"144000000000098"'));
    const order: unknown[] = [];
    const test = await open(async () => void order.push('written'));
    test.handlers.numbersKnown = (people) => void order.push(people);
    friend = 'lid:144000000000098';
    const id = await write('STOP');
    await eventually(() => !isKept(id));
    expect(order).to.deep.equal(['written', [{ phone: '4917099', hiddenId: '144000000000098@lid' }]]);
  });

  it('is confirmed to the network only when it is written down', async () => {
    const written = defer<void>();
    const heard: IncomingMessage[] = [];
    await open((message) => {
      heard.push(message);
      return written.promise;
    });
    const id = await write('STOP');
    await eventually(() => heard.length === 1);
    const second = await write('and another thing');
    expect(isKept(id)).to.equal(true);
    written.resolve();
    await eventually(() => !isKept(id) && !isKept(second));
    expect(heard.map(({ text }) => text)).to.deep.equal(['STOP', 'and another thing']);
  });

  it('can be read again by the next login when the process died before it was written down', async () => {
    const first = await open();
    await write('a session to begin with');
    await eventually(() => textsOf(first).length === 1);
    await first.session.close();

    const heard: string[] = [];
    const dying = await open(({ text }) => {
      heard.push(text);
      return new Promise(() => {});
    });
    const id = await write('STOP');
    await eventually(() => heard.includes('STOP'));
    await dying.session.close();

    const next = await open();
    await eventually(() => textsOf(next).includes('STOP'));
    await eventually(() => !isKept(id));
    expect(textsOf(next)).to.deep.equal(['STOP']);
  });

  it('ends the session when it cannot be written down, and comes again', async () => {
    const failing = await open(() => Promise.reject(new Error('the store is away')));
    const id = await write('STOP');
    await failing.next('closed');
    expect(isKept(id)).to.equal(true);
    const next = await open();
    await eventually(() => textsOf(next).includes('STOP'));
  });

  it('comes in the order it was written in, also what came during an absence', async () => {
    const texts = ['STOP', 'START', 'STOP'];
    const ids: string[] = [];
    for (const text of texts) ids.push(await write(text));
    const test = await open();
    await eventually(() => textsOf(test).length === 3);
    expect(textsOf(test)).to.deep.equal(texts);
    await eventually(() => !ids.some(isKept));
  });

  it('is left out under an id that is longer than what is told of it can hold', async () => {
    const test = await open();
    await write('under a long id', { id: '€'.repeat(100) });
    await write('under a short one');
    await eventually(() => textsOf(test).includes('under a short one'));
    expect(textsOf(test)).to.deep.equal(['under a short one']);
  });

  it('ignores messages of the account itself and of its other devices', async () => {
    const test = await open();
    const other = await sessions.link(device.phone);
    const sibling = await sessions.open(other.keyStore);
    await sibling.next('open');
    const { ack } = await sibling.session.send({
      to: friend,
      platformId: '3EB0000000000000000ABC',
      content: { kind: 'text', text: 'STOP' },
    });
    await ack;
    await write('the last word');
    await eventually(() => textsOf(test).length > 0);
    expect(textsOf(test)).to.deep.equal(['the last word']);
  });
});
