import { eventually } from '@gateway/testkit/eventually';
import {
  type BinaryNode,
  type CacheStore,
  getBinaryNodeChild,
  getBinaryNodeChildBuffer,
  proto,
} from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { csToken } from './support/privacy-tokens.js';
import { useSimulator } from './support/simulator-fixture.js';
import { type Linked, newState, renewSecret, type StockSocket } from './support/stock-client.js';

interface Row {
  from: string;
  text: string | null;
  shown: number;
  details?: Record<string, unknown>;
}

/** Devices as a client has them that learnt of them by hidden identifier: by number the network lists none. */
function knownDevices(...people: [string, ...number[]][]): CacheStore {
  const known = new Map<string, unknown>();
  for (const [user, ...ids] of people) {
    known.set(
      user,
      ids.map((device) => ({ user, device, server: 's.whatsapp.net' })),
    );
  }
  return {
    get: <T>(key: string) => known.get(key) as T | undefined,
    set: (key, value) => void known.set(key, value),
    del: (key) => void known.delete(key),
    flushAll: () => known.clear(),
  };
}

describe('namespaces of the profile 2026', () => {
  const network = useSimulator({ profile: '2026' });
  const migrated = '4921000000001';
  const plain = '4921000000002';
  const friend = '4921000000003';
  let byLid: Linked;
  let byNumber: Linked;

  const jids = (number: string) => {
    const { directory } = network.simulator.network;
    return { pn: directory.jidOf(number, 'pn'), lid: directory.jidOf(number, 'lid') };
  };
  const rowsOf = async (number: string) =>
    (await network.admin('GET', `/admin/phones/${number}/messages`)).body as Row[];

  /** Sends a text and answers the code of the refusal, undefined if it was taken. */
  async function send(
    { socket, number }: Linked,
    jid: string,
    more: Record<string, string> = {},
  ): Promise<string | undefined> {
    const id = `T${Math.random().toString(16).slice(2).toUpperCase()}`;
    const ack = nextAck(socket, id);
    const additionalNodes = [csToken(network.simulator, number, jid)];
    const options = { messageId: id, additionalAttributes: more, additionalNodes };
    await socket.relayMessage(jid, { conversation: 'hello' }, options);
    return (await ack).error;
  }

  function nextAck(socket: StockSocket, id: string): Promise<Record<string, string>> {
    return new Promise((resolve) => {
      socket.ws.on(`CB:ack,id:${id}`, ({ attrs }: BinaryNode) => resolve(attrs));
    });
  }

  before(async () => {
    byLid = await network.link({ getMessage: async () => ({ conversation: 'from the store' }) }, migrated);
    await network.admin('PUT', `/admin/accounts/${plain}`, { addressing: 'pn' });
    byNumber = await network.link({ userDevicesCache: knownDevices([friend, 0], [migrated, 0, 1]) }, plain);
  });

  it('refuses what a stock client of a migrated account sends by number, and takes it by hidden identifier', async () => {
    expect(await send(byLid, jids(friend).pn)).to.equal('463');
    expect(await rowsOf(friend)).to.deep.equal([]);
    expect(await send(byLid, jids(friend).lid, { peer_recipient_pn: jids(friend).pn })).to.equal(undefined);
    await eventually(async () => expect((await rowsOf(friend))[0]).to.include({ from: migrated, shown: 1 }));
  });

  it('refuses what an account that has not migrated sends by hidden identifier, and takes it by number', async () => {
    expect(await send(byNumber, jids(friend).lid)).to.equal('400');
    const shown = (await rowsOf(friend)).length;
    expect(await send(byNumber, jids(friend).pn)).to.equal(undefined);
    await eventually(async () => expect(await rowsOf(friend)).to.have.length(shown + 1));
  });

  it('can play a network with a rule of its own, by namespace', async () => {
    const rule = { on: 'message', match: { account: migrated, addressing: 'lid' }, do: { ackError: 463 } };
    await network.admin('PUT', '/admin/faults', [rule]);
    expect(await send(byLid, jids(friend).lid)).to.equal('463');
    expect(await send(byNumber, jids(friend).pn)).to.equal(undefined);
    await network.admin('DELETE', '/admin/faults');
    expect(await send(byLid, jids(friend).lid)).to.equal(undefined);
  });

  it('refuses a stanza that names an own device by number beside people by hidden identifier', async () => {
    const enc = { tag: 'enc', attrs: { v: '2', type: 'msg' }, content: Buffer.from('x') };
    const to = (jid: string) => ({ tag: 'to', attrs: { jid }, content: [enc] });
    const content = [
      { tag: 'participants', attrs: {}, content: [to(jids(friend).lid), to(jids(migrated).pn)] },
    ] as BinaryNode[];
    const ack = nextAck(byLid.socket, 'MIXED');
    await byLid.socket.sendNode({
      tag: 'message',
      attrs: { id: 'MIXED', to: jids(friend).lid, type: 'text' },
      content,
    });
    expect(await ack).to.include({ error: '400' });
  });

  it('refuses a stanza that brings a message to devices of another person', async () => {
    const enc = { tag: 'enc', attrs: { v: '2', type: 'msg' }, content: Buffer.from('x') };
    const to = { tag: 'to', attrs: { jid: jids(plain).lid }, content: [enc] };
    const content = [{ tag: 'participants', attrs: {}, content: [to] }] as BinaryNode[];
    const ack = nextAck(byLid.socket, 'STRAY');
    const attrs = { id: 'STRAY', to: jids(migrated).pn, type: 'text', category: 'peer' };
    await byLid.socket.sendNode({ tag: 'message', attrs, content });
    expect(await ack).to.include({ error: '400' });
  });

  it('marks the sender as unknown on a phone that was not told its own number', async () => {
    const [named, unnamed] = ['4921000000004', '4921000000005'];
    await send(byLid, jids(named).lid, { peer_recipient_pn: jids(named).pn });
    await send(byLid, jids(unnamed).lid);
    const detailsOf = async (number: string) => {
      await eventually(async () => expect((await rowsOf(number))[0]?.shown).to.equal(1));
      return (await rowsOf(number))[0]?.details;
    };
    expect(await detailsOf(named)).to.equal(undefined);
    expect(await detailsOf(unnamed)).to.deep.equal({ unknownUser: true });
  });

  it('refuses what a stock client sends again to a stranger: it shows no token', async () => {
    const number = '4921000000007';
    const { counters, phones } = network.simulator.network;
    await send(byLid, jids(number).lid, { peer_recipient_pn: jids(number).pn });
    await eventually(async () => expect(await rowsOf(number)).to.have.length(1));
    phones.phone(number).forgetSession(migrated, 1);
    const { missingTokens } = counters;
    await send(byLid, jids(number).lid, { peer_recipient_pn: jids(number).pn });
    await eventually(() => counters.missingTokens > missingTokens, { what: 'the refusal' });
    expect((await rowsOf(number)).map(({ shown }) => shown)).to.deep.equal([1, 0]);
  });

  it('takes what is sent again by the rule of namespaces', async () => {
    const socket = byLid.socket;
    const number = '4921000000006';
    network.simulator.network.accounts.ensure(migrated).tokensRequired = false;
    const asked = new Promise<string | undefined>((resolve) => {
      socket.ws.on('CB:receipt,type:retry', ({ attrs }: BinaryNode) => resolve(attrs.from));
    });
    await send(byLid, jids(number).lid, { peer_recipient_pn: jids(number).pn });
    await eventually(async () => expect(await rowsOf(number)).to.have.length(1));
    network.simulator.network.phones.phone(number).forgetSession(migrated, 1);
    await send(byLid, jids(number).lid, { peer_recipient_pn: jids(number).pn });
    expect(await asked).to.equal(jids(number).lid);
    await eventually(async () => expect((await rowsOf(number)).map(({ shown }) => shown)).to.deep.equal([1, 1]));
    const enc = { tag: 'enc', attrs: { v: '2', type: 'msg', count: '1' }, content: Buffer.from('x') };
    const ack = nextAck(socket, 'AGAIN');
    const attrs = { id: 'AGAIN', to: jids(number).pn, type: 'text', device_fanout: 'false' };
    await socket.sendNode({ tag: 'message', attrs, content: [enc] });
    expect(await ack).to.include({ error: '463' });
    network.simulator.network.accounts.ensure(migrated).tokensRequired = true;
  });

  it('brings what people write in the namespace of the account', async () => {
    const heardBy = ({ socket }: Linked) =>
      new Promise<unknown>((resolve) => {
        socket.ev.on('messages.upsert', ({ messages }) => {
          for (const { key, message } of messages) if (message?.conversation === 'hi') resolve(key);
        });
      });
    const [toLid, toNumber] = [heardBy(byLid), heardBy(byNumber)];
    for (const to of [migrated, plain])
      await network.admin('POST', `/admin/phones/${friend}/messages`, { to, text: 'hi' });
    expect(await toLid).to.include({ remoteJid: jids(friend).lid, remoteJidAlt: jids(friend).pn });
    expect(await toNumber).to.include({ remoteJid: jids(friend).pn, remoteJidAlt: jids(friend).lid });
  });

  it('shows clients of the two namespaces to each other, each in its own', async () => {
    const heard = (client: Linked, text: string) =>
      new Promise<unknown>((resolve) => {
        client.socket.ev.on('messages.upsert', ({ messages }) => {
          for (const { key, message } of messages) if (message?.conversation === text) resolve(key.remoteJid);
        });
      });
    const receipt = new Promise<string | undefined>((resolve) => {
      byNumber.socket.ws.on('CB:receipt', ({ attrs }: BinaryNode) => attrs.id === 'CROSS' && resolve(attrs.from));
    });
    const atMigrated = heard(byLid, 'across');
    const additionalNodes = [csToken(network.simulator, plain, jids(migrated).pn)];
    const options = { messageId: 'CROSS', additionalNodes };
    await byNumber.socket.relayMessage(jids(migrated).pn, { conversation: 'across' }, options);
    expect(await atMigrated).to.equal(jids(plain).lid);
    expect((await receipt)?.split('@')[1]).to.equal('s.whatsapp.net');
  });

  it('tells a client in mid-connection that its account migrates, and where each conversation went', async () => {
    const number = '4921000000007';
    await network.admin('PUT', `/admin/accounts/${number}`, { addressing: 'pn' });
    const client = await network.link({}, number);
    const { accounts } = network.simulator.network;
    const contact = '4921000000008';
    accounts.ensure(number).contacts.add(contact);
    expect(await send(client, jids(friend).pn)).to.equal(undefined);
    expect(await propOf(client, '9435')).to.equal('false');
    await network.admin('PUT', `/admin/accounts/${number}`, { addressing: 'lid' });
    await eventually(async () => {
      const known = await client.state.keys.get('lid-mapping', [contact]);
      return expect(known).to.deep.equal({ [contact]: jids(contact).lid.split('@')[0] });
    });
    expect(await send(client, jids(friend).pn)).to.equal('463');
    expect(await propOf(client, '9435')).to.equal('true');
  });

  async function propOf({ socket }: Linked, code: string): Promise<string | undefined> {
    const query = { tag: 'props', attrs: { protocol: '1' } };
    const attrs = { to: 's.whatsapp.net', type: 'get', xmlns: 'abt' };
    const props = getBinaryNodeChild(await socket.query({ tag: 'iq', attrs, content: [query] }), 'props');
    const list = (props?.content ?? []) as BinaryNode[];
    return list.find(({ attrs }) => attrs.config_code === code)?.attrs.config_value;
  }

  it('says at linking whether the account has migrated; the code may ask for either', async () => {
    const seen: (boolean | null | undefined)[] = [];
    for (const addressing of ['lid', 'pn'] as const) {
      const state = newState();
      const attempt = network.connect(state);
      renewSecret(attempt, state, (qr) => {
        network.simulator.pairing.scanQr(qr.replace('#', `?addressing=${addressing}#`)).catch(() => {});
      });
      const success = await new Promise<BinaryNode>((resolve) => attempt.socket.ws.on('CB:iq,,pair-success', resolve));
      const props = getBinaryNodeChildBuffer(getBinaryNodeChild(success, 'pair-success'), 'client-props');
      seen.push(proto.ClientPairingProps.decode(props as Uint8Array).isChatDbLidMigrated);
    }
    expect(seen).to.deep.equal([true, false]);
  });
});
