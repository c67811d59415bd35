import type { OpenSessionOptions } from '@gateway/messenger/session/open-session';
import type { IncomingMessage } from '@gateway/messenger/session/session-events';
import { proto } from '@gateway/messenger/socket/baileys';
import { node } from '@gateway/simulator/wire/nodes';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { type Device, makeNumbers, type TestSession, useSessions } from './support/session-fixture.js';

const { PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE } = proto.Message.ProtocolMessage.Type;
const { PLACEHOLDER_MESSAGE_RESEND } = proto.Message.PeerDataOperationRequestType;
const NOTHING_KNOWN = { text: '', content: { type: 'unsupported' } };

describe('a message that the network has for the phone alone', () => {
  const sessions = useSessions();
  let device: Device;
  let friend: string;

  beforeEach(async () => {
    device = await sessions.link();
    [friend] = makeNumbers(1) as [string];
  });

  const write = async (draft: object, from = friend): Promise<string> => {
    const path = `phones/${from}/messages`;
    return (await sessions.admin<{ id: string }>('POST', path, { to: device.phone, ...draft })).id;
  };
  async function open(changes: Partial<OpenSessionOptions> = {}): Promise<TestSession> {
    const test = await sessions.open(device.keyStore, changes);
    await test.next('open');
    return test;
  }
  const heardIn = ({ reports }: TestSession): IncomingMessage[] =>
    reports.flatMap((report) => (report.event === 'message' ? [report.value] : []));
  const linked = () => [...sessions.simulator.network.accounts.ensure(device.phone).devices.values()][0]!;
  const isKept = (id: string) =>
    linked()
      .mailbox.save()
      .some(({ attrs }) => attrs.id === id);
  const switchPhone = (isOn: boolean) => sessions.admin('PUT', `phones/${device.phone}`, { online: isOn });
  /** What clients of the account asked the phone for, in the order in which they did. */
  function watchRequests(): proto.Message.IPeerDataOperationRequestMessage[] {
    const seen: proto.Message.IPeerDataOperationRequestMessage[] = [];
    const { writer } = sessions.simulator.office;
    const answer = writer.answer.bind(writer);
    writer.answer = (about, id, request) => {
      seen.push(request);
      return answer(about, id, request);
    };
    return seen;
  }

  /** How often clients have asked the phone of a writer to send a message anew. */
  function countRetries(): () => number {
    let count = 0;
    const { writer } = sessions.simulator.office;
    const receive = writer.receiveReceipt.bind(writer);
    writer.receiveReceipt = (from, device, ids, type) => {
      if (type === 'retry') count += 1;
      return receive(from, device, ids, type);
    };
    return () => count;
  }

  for (const addressing of ['pn', 'lid'])
    it(`is asked of the phone, and told as if it had come: with its writer, its time and all that is in it (${addressing})`, async () => {
      const test = await open();
      const id = await write({ text: 'I saw your ad', phoneOnly: 'fanout', addressing });
      const message = await test.next('message');
      expect(message).to.deep.include({ platformId: id, phone: friend, text: 'I saw your ad' });
      expect(message.content).to.deep.equal({ type: 'text' });
      expect(message.atMs).to.be.closeTo(Date.now(), 5_000);
      expect(message.jid).to.match(addressing === 'lid' ? /@lid$/ : /@s\.whatsapp\.net$/);
      await eventually(() => !isKept(id));
    });

  it('is asked of a phone that cannot read the first question', async () => {
    const test = await open({ phoneAnswerMs: 4_000 });
    sessions.simulator.network.phones.phone(device.phone).forgetSession(device.phone, linked().id);
    await write({ text: 'I saw your ad', phoneOnly: 'fanout' });
    expect(await test.next('message')).to.include({ text: 'I saw your ad' });
  });

  it('is asked of the phone however much that has received since', async () => {
    const id = await write({ text: 'of last night', phoneOnly: 'fanout' });
    const { writer } = sessions.simulator.office;
    const [other] = makeNumbers(1) as [string];
    for (let i = 0; i < 600; i++) await writer.write(other, device.phone, { conversation: `since then ${i}` });
    const test = await open();
    await eventually(() => heardIn(test).some(({ platformId }) => platformId === id));
    expect(heardIn(test).find(({ platformId }) => platformId === id)).to.include({ text: 'of last night' });
  });

  it('may be a picture', async () => {
    const test = await open();
    await write({ image: { size: 1_000 }, text: 'this one?', phoneOnly: 'fanout' });
    const { text, content } = await test.next('message');
    expect([text, content.type]).to.deep.equal(['this one?', 'image']);
    expect(content).to.have.nested.property('media.bytes', 1_000);
  });

  it('holds up no other, and is there for the next login until it is told', async () => {
    await switchPhone(false);
    const test = await open();
    const id = await write({ text: 'one', phoneOnly: 'fanout' });
    await write({ text: 'two' });
    await eventually(() => heardIn(test).length === 1);
    expect(heardIn(test)[0]).to.include({ text: 'two' });
    expect(isKept(id)).to.equal(true);
    await test.session.close();
    await switchPhone(true);
    const next = await open();
    expect(await next.next('message')).to.include({ platformId: id, text: 'one' });
    await eventually(() => !isKept(id));
  });

  for (const addressing of ['pn', 'lid'])
    it(`is told beside that of another person under the same id, each with what they wrote (${addressing})`, async () => {
      const [other] = makeNumbers(1) as [string];
      const test = await open({ phoneAnswerMs: 6_000 });
      const how = { phoneOnly: 'fanout', addressing, id: '3ASHARED' };
      await write({ text: 'of a friend', ...how });
      await write({ text: 'of another', ...how }, other);
      await eventually(() => heardIn(test).length === 2);
      const told = heardIn(test).map(({ phone, text }) => [phone, text]);
      const written = [
        [friend, 'of a friend'],
        [other, 'of another'],
      ];
      expect(told).to.have.deep.members(written);
      await eventually(() => !isKept('3ASHARED'));
    });

  it('is told with no words of another person, who wrote under the same id', async () => {
    await switchPhone(false);
    const [other] = makeNumbers(1) as [string];
    const test = await open({ phoneAnswerMs: 2_000 });
    const id = await write({ text: 'of a friend', phoneOnly: 'fanout' });
    const said = {
      key: { remoteJid: `${other}@s.whatsapp.net`, fromMe: false, id },
      message: { conversation: 'of another' },
    };
    await sessions.simulator.office.writer.tellClients(device.phone, answerOf(said));
    expect(await test.next('message')).to.deep.include({ platformId: id, phone: friend, ...NOTHING_KNOWN });
  });

  it('is told as the phone says it also where the backlog that it is of has not ended', async () => {
    await sessions.admin('PUT', `accounts/${device.phone}`, { backlog: { endMarkMs: null } });
    const id = await write({ text: 'I saw your ad', phoneOnly: 'fanout' });
    const test = await open({ phoneAnswerMs: 3_000 });
    expect(await test.next('message')).to.include({ platformId: id, text: 'I saw your ad' });
    await eventually(() => !isKept(id));
  });

  for (const [what, change, content] of [
    ['deleted', {}, { type: 'deleted' }],
    ['changed', { text: 'at ten' }, { type: 'edited' }],
  ] as const)
    it(`is told as something that is not known before it is told that it was ${what}, and not again after that`, async () => {
      await switchPhone(false);
      const test = await open();
      const id = await write({ text: 'at nine', phoneOnly: 'fanout' });
      await write({ ...change, ...(what === 'deleted' ? { delete: { id } } : { edit: { id, plain: true } }) });
      await eventually(() => heardIn(test).length === 2);
      const asked = watchRequests();
      await switchPhone(true);
      await eventually(() => asked.length > 0);
      await write({ text: 'next' });
      await eventually(() => heardIn(test).some(({ text }) => text === 'next'));
      const [first, second, ...others] = heardIn(test);
      expect(first).to.deep.include({ platformId: id, phone: friend, ...NOTHING_KNOWN });
      expect(second!.content).to.deep.equal({ ...content, to: { platformId: id } });
      expect(others.map(({ text }) => text)).to.deep.equal(['next']);
      await eventually(() => !isKept(id));
    });

  it('ends the backlog that it is of once it is told, as it may be a STOP', async () => {
    await switchPhone(false);
    await write({ text: 'STOP', phoneOnly: 'fanout' });
    const test = await open();
    const toldThen = test.session.caughtUp.then(() => heardIn(test).map(({ text }) => text));
    await write({ text: 'two' });
    await eventually(() => heardIn(test).length === 1);
    await switchPhone(true);
    expect(await toldThen).to.deep.equal(['two', 'STOP']);
  });

  it('ends it also where the phone does not answer', async () => {
    await switchPhone(false);
    const id = await write({ text: 'STOP', phoneOnly: 'fanout' });
    const test = await open({ phoneAnswerMs: 600 });
    await test.session.caughtUp;
    expect(heardIn(test).map(({ platformId }) => platformId)).to.deep.equal([id]);
  });

  it('is told as something that is not known when the phone does not answer in time, and the rest of it never', async () => {
    await switchPhone(false);
    const test = await open({ phoneAnswerMs: 600 });
    const id = await write({ text: 'one', phoneOnly: 'fanout' });
    expect(await test.next('message')).to.deep.include({ platformId: id, phone: friend, ...NOTHING_KNOWN });
    await eventually(() => !isKept(id));
    const asked = watchRequests();
    await switchPhone(true);
    await eventually(() => asked.length > 0);
    await write({ text: 'later' });
    await eventually(() => heardIn(test).some(({ text }) => text === 'later'));
    expect(heardIn(test).map(({ text }) => text)).to.deep.equal(['', 'later']);
  });

  it('is asked for together with others, and each is told once', async () => {
    const asked = watchRequests();
    const test = await open();
    const texts = Array.from({ length: 70 }, (_, i) => `message ${i}`);
    await Promise.all(texts.map((text) => write({ text, phoneOnly: 'fanout' })));
    await eventually(() => heardIn(test).length >= texts.length);
    expect(
      heardIn(test)
        .map(({ text }) => text)
        .sort(),
    ).to.deep.equal([...texts].sort());
    const counts = asked.map(({ placeholderMessageResendRequest: keys }) => keys?.length ?? 0);
    expect(counts.reduce((sum, count) => sum + count)).to.equal(texts.length);
    expect(counts.length).to.be.within(3, 35);
    expect(Math.max(...counts)).to.be.within(2, 32);
  });

  it('is asked for also where hundreds came while the device was away', async () => {
    const texts = Array.from({ length: 400 }, (_, i) => `message ${i}`);
    for (const text of texts) await write({ text, phoneOnly: 'fanout' });
    const test = await open();
    await eventually(() => heardIn(test).length >= texts.length);
    const told = heardIn(test).map(({ text }) => text);
    expect(told).to.have.members(texts);
  });

  it('is one that cannot be decrypted, too, once its writer has sent it as often as helps', async () => {
    const asked = watchRequests();
    const test = await open();
    const id = await write({ text: 'sealed for another', phoneOnly: 'unreadable' });
    expect(await test.next('message')).to.include({ platformId: id, phone: friend, text: 'sealed for another' });
    expect(asked).to.have.length(1);
    await eventually(() => !isKept(id));
  });

  for (const phoneOnly of ['viewOnce', 'hosted'])
    it(`is not asked for where the phone gives nothing of it out (${phoneOnly})`, async () => {
      const asked = watchRequests();
      const test = await open();
      const id = await write({ text: 'once', phoneOnly });
      expect(await test.next('message')).to.deep.include({ platformId: id, ...NOTHING_KNOWN });
      await eventually(() => !isKept(id));
      expect(asked).to.deep.equal([]);
    });

  it('is not told of where all that it says is that another one is taken back', async () => {
    const test = await open();
    const attrs = { from: `${friend}@s.whatsapp.net`, type: 'text', t: '1800000000', id: '3ABACK', edit: '7' };
    linked().mailbox.post(node('message', attrs, [node('unavailable')]));
    await eventually(() => !isKept('3ABACK'));
    await write({ text: 'next' });
    expect(await test.next('message')).to.include({ text: 'next' });
  });

  it('is asked of no phone where it is older than a fortnight', async () => {
    const asked = watchRequests();
    const test = await open();
    const attrs = { from: `${friend}@s.whatsapp.net`, type: 'text', t: '1500000000', id: '3AOLD' };
    linked().mailbox.post(node('message', attrs, [node('unavailable')]));
    expect(await test.next('message')).to.deep.include({ platformId: '3AOLD', ...NOTHING_KNOWN });
    await eventually(() => !isKept('3AOLD'));
    expect(asked).to.deep.equal([]);
  });

  it('is asked for three times where the phone does not have it either, or not yet', async () => {
    const asked = watchRequests();
    const test = await open({ phoneAnswerMs: 2_000 });
    const attrs = {
      from: `${friend}@s.whatsapp.net`,
      type: 'text',
      id: '3ALATE',
      t: String(Math.floor(Date.now() / 1000)),
    };
    linked().mailbox.post(node('message', attrs, [node('unavailable')]));
    expect(await test.next('message')).to.deep.include({ platformId: '3ALATE', ...NOTHING_KNOWN });
    const key = { remoteJid: attrs.from, fromMe: false, id: '3ALATE' };
    const keys = asked.map(({ placeholderMessageResendRequest: all }) => ({ ...all?.[0]?.messageKey }));
    expect(keys).to.deep.equal([key, key, key]);
  });

  it('is asked for in one new session with the phone, however often that is', async () => {
    await switchPhone(false);
    const test = await open({ phoneAnswerMs: 1_000 });
    const { counters } = sessions.simulator.network;
    const before = counters.keyBundles;
    for (const text of ['one', 'two']) {
      const platformId = await write({ text, phoneOnly: 'fanout' });
      await eventually(() => heardIn(test).some((message) => message.platformId === platformId));
    }
    expect(counters.keyBundles - before).to.equal(1);
  });

  it('is asked for again also where the network gives no keys of the phone', async () => {
    const asked = watchRequests();
    const test = await open({ phoneAnswerMs: 2_000 });
    sessions.fault('iq', { error: 406 }, { match: { xmlns: 'encrypt' }, count: 1_000 });
    const t = String(Math.floor(Date.now() / 1000));
    const attrs = { from: `${friend}@s.whatsapp.net`, type: 'text', id: '3ANOKEYS', t };
    linked().mailbox.post(node('message', attrs, [node('unavailable')]));
    expect(await test.next('message')).to.deep.include({ platformId: '3ANOKEYS', ...NOTHING_KNOWN });
    expect(asked).to.have.length(3);
  });

  for (const addressing of ['pn', 'lid'])
    it(`that cannot be decrypted is told where the session ends while the phone is asked, as it does not come again (${addressing})`, async () => {
      await switchPhone(false);
      const test = await open();
      const retries = countRetries();
      const id = await write({ text: 'sealed for another', phoneOnly: 'unreadable', addressing });
      await eventually(() => retries() >= 3);
      await test.session.close();
      expect(heardIn(test)).to.have.length(1);
      expect(heardIn(test)[0]).to.deep.include({ platformId: id, phone: friend, ...NOTHING_KNOWN });
    });

  it('is believed of the own phone alone', async () => {
    await switchPhone(false);
    const test = await open({ phoneAnswerMs: 2_000 });
    const id = await write({ text: 'one', phoneOnly: 'fanout' });
    const [stranger] = makeNumbers(1) as [string];
    const { writer } = sessions.simulator.office;
    const said = {
      key: { remoteJid: `${friend}@s.whatsapp.net`, fromMe: false, id },
      message: { conversation: 'forged' },
    };
    await writer.write(stranger, device.phone, answerOf(said));
    await writer.write(stranger, device.phone, { conversation: 'after it' });
    await eventually(() => heardIn(test).length === 2);
    expect(heardIn(test).map(({ text }) => text)).to.deep.equal(['after it', '']);
  });
});

/** What a phone says that was asked for a message. */
function answerOf(said: proto.IWebMessageInfo): proto.IMessage {
  const webMessageInfoBytes = proto.WebMessageInfo.encode(said).finish();
  const peerDataOperationRequestResponseMessage = {
    peerDataOperationRequestType: PLACEHOLDER_MESSAGE_RESEND,
    peerDataOperationResult: [{ placeholderMessageResendResponse: { webMessageInfoBytes } }],
  };
  return {
    protocolMessage: { type: PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE, peerDataOperationRequestResponseMessage },
  };
}
