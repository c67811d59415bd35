import { eventually } from '@gateway/testkit/eventually';
import {
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  type proto,
  USyncQuery,
  USyncUser,
} from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { csToken } from './support/privacy-tokens.js';
import { useSimulator } from './support/simulator-fixture.js';
import type { Linked } from './support/stock-client.js';

describe('lookups of the profile 2026', () => {
  const network = useSimulator({ profile: '2026' });
  const me = '4923000000001';
  let client: Linked;

  const jids = (number: string) => {
    const { directory } = network.simulator.network;
    return { pn: directory.jidOf(number, 'pn'), lid: directory.jidOf(number, 'lid') };
  };

  async function usync(protocols: BinaryNode[], users: BinaryNode[]): Promise<BinaryNode[]> {
    const content = [
      { tag: 'query', attrs: {}, content: protocols },
      { tag: 'list', attrs: {}, content: users },
    ];
    const attrs = { sid: '1', mode: 'query', last: 'true', index: '0', context: 'interactive' };
    const answer = await client.socket.query({
      tag: 'iq',
      attrs: { to: 's.whatsapp.net', type: 'get', xmlns: 'usync' },
      content: [{ tag: 'usync', attrs, content }],
    });
    return getBinaryNodeChildren(getBinaryNodeChild(getBinaryNodeChild(answer, 'usync'), 'list'), 'user');
  }

  const typed = (text: string): BinaryNode => ({
    tag: 'user',
    attrs: {},
    content: [{ tag: 'contact', attrs: {}, content: Buffer.from(text) }],
  });
  const named = (jid: string): BinaryNode => ({ tag: 'user', attrs: { jid } });
  const devicesIn = (user: BinaryNode | undefined) =>
    getBinaryNodeChildren(getBinaryNodeChild(getBinaryNodeChild(user, 'devices'), 'device-list'), 'device').length;

  /** Sends a text by hidden identifier and answers the ack. */
  async function send(jid: string, messageId: string): Promise<Record<string, string>> {
    const { socket } = client;
    const ack = new Promise<Record<string, string>>((resolve) => {
      socket.ws.on(`CB:ack,id:${messageId}`, ({ attrs }: BinaryNode) => resolve(attrs));
    });
    const additionalNodes = [csToken(network.simulator, me, jid)];
    await socket.relayMessage(jid, { conversation: messageId }, { messageId, additionalNodes });
    return ack;
  }

  before(async () => {
    client = await network.link({}, me);
    await network.admin('PUT', '/admin/phones/4923000000404', { exists: false });
  });

  it('answers a question by hidden identifier with both names, with the number only for who is not there', async () => {
    const contact = { tag: 'contact', attrs: { addressing_mode: 'lid' } };
    const [known, unknown, invalid] = await usync(
      [contact],
      ['+4923000000002', '+4923000000404', '+12'].map((text) => typed(text)),
    );
    expect(known?.attrs).to.deep.equal({ jid: jids('4923000000002').lid, pn_jid: jids('4923000000002').pn });
    expect(getBinaryNodeChild(known, 'contact')?.attrs.type).to.equal('in');
    expect(unknown?.attrs).to.deep.equal({ pn_jid: jids('4923000000404').pn });
    expect(getBinaryNodeChild(unknown, 'contact')?.attrs.type).to.equal('out');
    expect(invalid?.attrs).to.deep.equal({});
    expect(getBinaryNodeChild(invalid, 'contact')).to.deep.include({ attrs: { type: 'invalid' } });
    expect(String(getBinaryNodeChild(invalid, 'contact')?.content)).to.equal('+12');
  });

  it('answers the question of a stock client as before', async () => {
    const found = await client.socket.onWhatsApp('4923000000002', '4923000000404');
    expect(found).to.deep.equal([{ jid: jids('4923000000002').pn, exists: true }]);
  });

  it('answers two spellings of a Brazilian number with one person', async () => {
    const contact = { tag: 'contact', attrs: { addressing_mode: 'lid' } };
    const users = await usync([contact], [typed('+551187654321'), typed('+5511987654321')]);
    expect(users.map(({ attrs }) => attrs.jid)).to.deep.equal(Array(2).fill(jids('5511987654321').lid));
    expect(users.map((user) => String(getBinaryNodeChild(user, 'contact')?.content))).to.deep.equal([
      '+551187654321',
      '+5511987654321',
    ]);
  });

  it('lists devices by hidden identifier only, those of the own account too', async () => {
    const other = await network.link();
    const protocols = [
      { tag: 'devices', attrs: { version: '2' } },
      { tag: 'lid', attrs: {} },
    ];
    const people = [jids(other.number).pn, jids(other.number).lid, jids(me).pn, jids(me).lid];
    const users = await usync(protocols, people.map(named));
    expect(users.map(devicesIn)).to.deep.equal([0, 2, 0, 2]);
    expect(getBinaryNodeChild(users[0], 'lid')?.attrs.val).to.equal(jids(other.number).lid);
    const stock = await client.socket.getUSyncDevices([jids(other.number).pn], false, false);
    expect(stock).to.deep.equal([]);
  });

  it('refuses a whole key query for one person whose keys it does not know, without a name', async () => {
    await network.admin('PUT', '/admin/phones/4923000000003', { badKeys: true });
    const [good, bad] = [jids('4923000000004').lid, jids('4923000000003').lid];
    const ask = (people: string[]) => client.socket.assertSessions(people, true).catch((error: Error) => error);
    const refused = await ask([good, bad]);
    expect(refused).to.have.property('message', 'not-acceptable');
    expect(refused).to.have.property('data', 406);
    expect(await ask([good])).to.equal(true);
    await network.admin('PUT', '/admin/phones/4923000000003', { badKeys: false });
    expect(await ask([bad])).to.equal(true);
  });

  it('says the same of a device that is gone', async () => {
    const gone = jids('4923000000004').lid.replace('@', ':7@');
    const refused = await client.socket.assertSessions([gone], true).catch((error: Error) => error);
    expect(refused).to.have.property('data', 406);
  });

  it('says on acks that a hidden identifier is another one now, until the client asks by number', async () => {
    const number = '4923000000005';
    const before = jids(number).lid;
    const sends = () => network.simulator.network.counters.staleLidSends;
    await network.admin('PUT', `/admin/phones/${number}`, { staleLid: true });
    const counted = sends();
    expect(jids(number).lid).to.not.equal(before);
    expect(await send(before, 'STALE1')).to.include({ refresh_lid: 'true' });
    expect(sends()).to.equal(counted);
    expect(await send(before, 'STALE2')).to.include({ refresh_lid: 'true' });
    expect(sends()).to.equal(counted + 1);
    const query = new USyncQuery().withLIDProtocol().withUser(new USyncUser().withId(jids(number).pn));
    const answer = await client.socket.executeUSyncQuery(query);
    expect(answer?.list[0]?.lid).to.equal(jids(number).lid);
    expect(await send(jids(number).lid, 'FRESH')).to.not.have.property('refresh_lid');
    await eventually(() => {
      const rows = [...network.simulator.network.phones.phone(number).inbox.rows()];
      return expect(rows.map(({ text, shown }) => [text, shown])).to.deep.equal([
        ['STALE1', 1],
        ['STALE2', 1],
        ['FRESH', 1],
      ]);
    });
  });

  it('lets a person without a number write, and be written to', async () => {
    const person = 'lid:77001234567890';
    const lid = '77001234567890@lid';
    const heard = nextKey('who am I');
    await network.admin('POST', `/admin/phones/${person}/messages`, { to: me, text: 'who am I' });
    const key = await heard;
    expect(key.remoteJid).to.equal(lid);
    expect((key as { remoteJidAlt?: string }).remoteJidAlt).to.equal(undefined);
    expect((await send(lid, 'ANSWER')).error).to.equal(undefined);
    const rowsOf = async () => (await network.admin('GET', `/admin/phones/${person}/messages`)).body as object[];
    await eventually(async () => expect((await rowsOf())[0]).to.include({ text: 'ANSWER', shown: 1, from: me }));
    expect((await rowsOf())[0]).to.not.have.property('details');
  });

  it('tells clients when the number of such a person becomes known, and finds them by it from then on', async () => {
    const [person, lid, number] = ['lid:77001234567890', '77001234567890@lid', '4923000000008'];
    expect((await network.admin('PUT', `/admin/phones/${person}`, { number })).status).to.equal(200);
    const pn = `${number}@s.whatsapp.net`;
    await eventually(async () => {
      const known = await client.state.keys.get('lid-mapping', [number]);
      return expect(known).to.deep.equal({ [number]: lid.split('@')[0] });
    });
    const [user] = await usync([{ tag: 'contact', attrs: { addressing_mode: 'lid' } }], [typed(`+${number}`)]);
    expect(user?.attrs).to.deep.equal({ jid: lid, pn_jid: pn });
    const heard = nextKey('it is me');
    await network.admin('POST', `/admin/phones/${number}/messages`, { to: me, text: 'it is me' });
    expect(await heard).to.include({ remoteJid: lid, remoteJidAlt: pn });
    expect((await network.admin('PUT', `/admin/phones/${person}`, { number: '4923000000009' })).status).to.equal(409);
  });

  function nextKey(text: string): Promise<proto.IMessageKey> {
    return new Promise((resolve) => {
      client.socket.ev.on('messages.upsert', ({ messages }) => {
        for (const { key, message } of messages) if (message?.conversation === text) resolve(key);
      });
    });
  }

  it('answers 500 to a stock question about the cap, and numbers as text to the right one', async () => {
    const refused = await client.socket.fetchNewChatMessageCap().catch((error: Error) => error);
    expect(refused).to.be.instanceOf(Error).with.nested.property('output.statusCode', 500);
    const restrictions = { newChatCap: { total: 30, used: 4 } };
    await network.admin('PUT', `/admin/accounts/${me}`, { restrictions });
    for (const query_id of ['27910975521856601', '24503548349331633']) {
      const info = await askCap(query_id);
      expect(info).to.include({ total_quota: '30', used_quota: '4', capping_status: 'NONE' });
    }
    await network.admin('PUT', `/admin/accounts/${me}`, { restrictions: {} });
  });

  it('can refuse one of the questions about restrictions and answer the other', async () => {
    const match = { queryId: '27910975521856601' };
    await network.admin('PUT', '/admin/faults', [{ on: 'iq', match, do: { error: 503 } }]);
    expect(await askCap(match.queryId).catch((error: Error) => error)).to.have.property('data', 503);
    expect(await client.socket.fetchAccountReachoutTimelock()).to.deep.include({ isActive: false });
    await network.admin('DELETE', '/admin/faults');
  });

  async function askCap(query_id: string): Promise<unknown> {
    const variables = { input: { type: 'INDIVIDUAL_NEW_CHAT_THREAD' } };
    const query = { tag: 'query', attrs: { query_id }, content: Buffer.from(JSON.stringify({ variables })) };
    const attrs = { to: 's.whatsapp.net', type: 'get', xmlns: 'w:mex' };
    const answer = await client.socket.query({ tag: 'iq', attrs, content: [query] });
    return JSON.parse(String(getBinaryNodeChild(answer, 'result')?.content)).data.xwa2_message_capping_info;
  }
});
