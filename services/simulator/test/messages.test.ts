import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import type { Linked } from './support/stock-client.js';

interface Row {
  id: string;
  from: string;
  type: string;
  text: string | null;
  shown: number;
  arrivals: number;
  details?: Record<string, unknown>;
  deliveredAt: number | null;
  readAt: number | null;
}

describe('messages to phones', () => {
  const network = useSimulator();
  let client: Linked;
  const counters = () => network.simulator.network.counters;
  const rowsOf = async (number: string) =>
    (await network.admin('GET', `/admin/phones/${number}/messages`)).body as Row[];
  const shownOn = (number: string, count = 1) =>
    eventually(async () => {
      const rows = await rowsOf(number);
      expect(rows.filter(({ shown }) => shown === 1)).to.have.length(count);
      return rows;
    });

  /** Collects what the client learns of its messages: id -> statuses. */
  function watchStatuses({ socket }: Pick<Linked, 'socket'>): Map<string, number[]> {
    const statuses = new Map<string, number[]>();
    socket.ev.on('messages.update', (updates) => {
      for (const { key, update } of updates) statuses.set(key.id!, [...(statuses.get(key.id!) ?? []), update.status!]);
    });
    return statuses;
  }

  before(async () => {
    client = await network.link({ getMessage: async () => ({ conversation: 'from the store' }) });
  });
  afterEach(() => network.admin('DELETE', '/admin/faults'));

  it('shows a text to a number never seen before, and tells the client: delivered, then read', async () => {
    const receipts: (string | undefined)[] = [];
    client.socket.ws.on('CB:receipt', ({ attrs }: { attrs: Record<string, string> }) => receipts.push(attrs.type));
    const sent = await client.socket.sendMessage('4917000000001@s.whatsapp.net', { text: 'good morning' });
    const [row] = await shownOn('4917000000001');
    expect(row).to.deep.include({
      id: sent?.key.id,
      from: client.number,
      type: 'text',
      text: 'good morning',
      arrivals: 1,
    });
    await eventually(() => expect(receipts).to.have.members([undefined, 'sender', 'read']));
    expect(receipts.at(-1)).to.equal('read');
  });

  it('takes messages addressed to the hidden identifier of a number', async () => {
    const { body } = await network.admin('GET', '/admin/phones/4917000000002');
    const { lid } = body as { lid: string };
    await client.socket.sendMessage(lid, { text: 'by lid' });
    const [row] = await shownOn('4917000000002');
    expect(row?.text).to.equal('by lid');
  });

  it('acknowledges a message to a person who has blocked the sender, and shows it nowhere', async () => {
    const [alice, bob] = await Promise.all([network.link(), network.link()]);
    const heard: string[] = [];
    bob.socket.ev.on('messages.upsert', ({ messages }) => {
      heard.push(...messages.flatMap(({ message }) => message?.extendedTextMessage?.text ?? []));
    });
    const acks: { id: string; error?: string }[] = [];
    alice.socket.ws.on('CB:ack,class:message', ({ attrs }: { attrs: { id: string; error?: string } }) =>
      acks.push(attrs),
    );
    const say = (text: string) => alice.socket.sendMessage(bob.jid, { text });
    await say('before');
    await eventually(() => expect(heard).to.deep.equal(['before']));
    await bob.socket.updateBlockStatus(alice.jid, 'block');
    const sent = await say('blocked');
    const ack = await eventually(() => acks.find(({ id }) => id === sent?.key.id));
    expect(ack?.error).to.equal(undefined);
    await bob.socket.updateBlockStatus(alice.jid, 'unblock');
    await say('after');
    await eventually(() => expect(heard).to.deep.equal(['before', 'after']));
    const rows = await rowsOf(bob.number);
    expect(rows.map(({ text }) => text)).to.deep.equal(['before', 'after']);
  });

  it('keeps quotes, reactions, edits and deletions apart', async () => {
    const jid = '4917000000003@s.whatsapp.net';
    const first = await client.socket.sendMessage(jid, { text: 'first' });
    const firstId = first!.key.id;
    await client.socket.sendMessage(jid, { text: 'second' }, { quoted: first! });
    await client.socket.sendMessage(jid, { react: { text: '👍', key: first!.key } });
    await client.socket.sendMessage(jid, { text: 'third', edit: first!.key });
    await client.socket.sendMessage(jid, { delete: first!.key });
    const rows = await shownOn('4917000000003', 5);
    expect(rows.map(({ type, text }) => [type, text])).to.deep.equal([
      ['text', 'first'],
      ['text', 'second'],
      ['reaction', '👍'],
      ['edit', 'third'],
      ['revoke', null],
    ]);
    expect(rows[1]?.details).to.include({ quoted: firstId });
  });

  it('shows a repeated id once, confirms it again, and counts both', async () => {
    const jid = '4917000000004@s.whatsapp.net';
    const before = counters().duplicateStanzas;
    await client.socket.sendMessage(jid, { text: 'once' }, { messageId: 'SAMEID' });
    await client.socket.sendMessage(jid, { text: 'once' }, { messageId: 'SAMEID' });
    await eventually(async () => expect((await rowsOf('4917000000004'))[0]?.arrivals).to.equal(2));
    expect(await rowsOf('4917000000004')).to.have.length(1);
    expect((await rowsOf('4917000000004'))[0]?.shown).to.equal(1);
    expect(counters().duplicateStanzas).to.equal(before + 1);
  });

  it('gives a copy to the own phone, which can read it', async () => {
    const phone = network.simulator.network.phones.phone(client.number);
    const before = phone.ownCopies;
    await client.socket.sendMessage('4917000000005@s.whatsapp.net', { text: 'copy' });
    await eventually(() => expect(phone.ownCopies).to.equal(before + 1));
  });

  it('says that a voice note was played, after it was read', async () => {
    const kinds: (string | undefined)[] = [];
    const onReceipt = ({ attrs }: { attrs: Record<string, string> }) => kinds.push(attrs.type);
    client.socket.ws.on('CB:receipt', onReceipt);
    const message = { audioMessage: { mediaKey: Buffer.alloc(32), directPath: '/v/none', ptt: true } };
    await client.socket.relayMessage('4917000000012@s.whatsapp.net', message, {});
    await eventually(() => expect(kinds.slice(-2)).to.deep.equal(['read', 'played']));
    client.socket.ws.off('CB:receipt', onReceipt);
  });

  it('asks again for a message it cannot read, and shows the resend', async () => {
    const jid = '4917000000006@s.whatsapp.net';
    await client.socket.sendMessage(jid, { text: 'one' });
    await shownOn('4917000000006');
    network.simulator.network.phones.phone('4917000000006').forgetSession(client.number, 1);
    const failures = counters().decryptFailures;
    await client.socket.sendMessage(jid, { text: 'two' });
    const rows = await shownOn('4917000000006', 2);
    expect(counters().decryptFailures).to.equal(failures + 1);
    expect(rows[1]).to.deep.include({ text: 'two', arrivals: 2 });
  });

  it('reads 500 messages to 500 people, each once', async () => {
    const numbers = Array.from({ length: 500 }, (_, index) => `49171${String(index).padStart(7, '0')}`);
    for (const number of numbers)
      await client.socket.sendMessage(`${number}@s.whatsapp.net`, { text: `for ${number}` });
    const mine = await eventually(async () => {
      const { body } = await network.admin('GET', `/admin/deliveries?from=${client.number}`);
      const rows = (body as (Row & { to: string })[]).filter(({ to }) => to.startsWith('49171'));
      expect(rows.filter(({ readAt }) => readAt)).to.have.length(500);
      return rows;
    });
    expect(mine.every(({ to, text, shown }) => text === `for ${to}` && shown === 1)).to.equal(true);
  });

  it('holds messages for a phone that is switched off until it is on', async () => {
    const number = '4917000000007';
    await network.admin('PUT', `/admin/phones/${number}`, { online: false });
    await client.socket.sendMessage(`${number}@s.whatsapp.net`, { text: 'later' });
    expect(await rowsOf(number)).to.deep.equal([]);
    await network.admin('PUT', `/admin/phones/${number}`, { online: true });
    const [row] = await shownOn(number);
    expect(row?.text).to.equal('later');
  });

  it('keeps receipts for a client that is away', async () => {
    const number = '4917000000008';
    const other = await network.link();
    await network.admin('PUT', `/admin/phones/${number}`, { online: false });
    const sent = await other.socket.sendMessage(`${number}@s.whatsapp.net`, { text: 'are you there' });
    await other.socket.end(undefined);
    await network.admin('PUT', `/admin/phones/${number}`, { online: true });
    await shownOn(number);
    const statuses = watchStatuses(network.connect(other.state));
    await eventually(() => expect(statuses.get(sent!.key.id!)?.at(-1)).to.equal(4));
    const device = network.simulator.network.accounts.findDevice(other.number, 1);
    await eventually(() => expect(device?.mailbox.size).to.equal(0));
  });

  it('brings messages that a phone writes to the client, and its receipts back to the phone', async () => {
    const received = new Promise<string>((resolve) => {
      client.socket.ev.on('messages.upsert', ({ messages }) => {
        const text = messages[0]?.message?.conversation;
        if (text === 'how are you') resolve(messages[0]?.key.remoteJid ?? '');
      });
    });
    const message = { to: client.number, text: 'how are you' };
    await network.admin('POST', '/admin/phones/4917000000001/messages', message);
    expect(await received).to.equal('4917000000001@s.whatsapp.net');
    await eventually(() => {
      const written = [...network.simulator.office.writer.written()].find(({ from }) => from === '4917000000001');
      return expect(written?.deliveredAt).to.be.a('number');
    });
  });

  it('brings what phones write to each other to the phones and to the clients on both sides', async () => {
    const other = '4917000000011';
    const heard = new Promise<unknown>((resolve) => {
      client.socket.ev.on('messages.upsert', ({ messages }) => {
        for (const { key, message } of messages) if (message?.conversation === 'from my phone') resolve(key);
      });
    });
    await network.admin('POST', `/admin/phones/${client.number}/messages`, { to: other, text: 'from my phone' });
    expect(await heard).to.include({ fromMe: true, remoteJid: `${other}@s.whatsapp.net` });
    const [row] = await shownOn(other);
    expect(row).to.include({ from: client.number, text: 'from my phone' });
    await eventually(() => {
      const written = network.simulator.office.writer.written().find(({ to }) => to === other);
      return expect(written?.readAt).to.be.a('number');
    });
  });

  it('refuses a message to a number that is not on the messenger', async () => {
    await network.admin('PUT', '/admin/phones/4917000000099', { exists: false });
    const ack = new Promise<Record<string, string>>((resolve) =>
      client.socket.ws.on('CB:ack,class:message', (node: { attrs: Record<string, string> }) => resolve(node.attrs)),
    );
    await client.socket.sendMessage('4917000000099@s.whatsapp.net', { text: 'anybody?' });
    expect(await ack).to.include({ error: '404' });
  });
});

describe('messages between linked clients', () => {
  const network = useSimulator();

  const nextText = ({ socket }: Linked, text: string) =>
    new Promise<{ pushName: string | null | undefined; remoteJid: string | null | undefined; fromMe: unknown }>(
      (resolve) => {
        socket.ev.on('messages.upsert', ({ messages }) => {
          for (const { message, pushName, key } of messages) {
            const found = message?.conversation ?? message?.extendedTextMessage?.text;
            if (found === text) resolve({ pushName, remoteJid: key.remoteJid, fromMe: key.fromMe });
          }
        });
      },
    );

  it('carries texts both ways, with the name of the sender', async () => {
    const alice = await network.link({ pushName: 'Alice' });
    const bob = await network.link({ pushName: 'Bob' });
    const heard = nextText(bob, 'hello bob');
    await alice.socket.sendMessage(bob.jid, { text: 'hello bob' });
    expect(await heard).to.deep.equal({ pushName: 'Alice', remoteJid: alice.jid, fromMe: false });
    const answer = nextText(alice, 'hello alice');
    await bob.socket.sendMessage(alice.jid, { text: 'hello alice' });
    expect(await answer).to.deep.equal({ pushName: 'Bob', remoteJid: bob.jid, fromMe: false });
  });

  it("reaches every device of the recipient and the sender's own other device", async () => {
    const [one, two] = [await network.link({}, '4917200000001'), await network.link({}, '4917200000001')];
    const other = await network.link({}, '4917200000002');
    const all = [nextText(one, 'to both'), nextText(two, 'to both')];
    await other.socket.sendMessage(one.jid, { text: 'to both' });
    await Promise.all(all);
    const mirrored = nextText(two, 'from one');
    await one.socket.sendMessage(other.jid, { text: 'from one' });
    expect(await mirrored).to.deep.include({ remoteJid: other.jid, fromMe: true });
  });

  it('puts the verified name of a business on its messages', async () => {
    const shop = await network.link({}, '4917200000010');
    await network.admin('PUT', '/admin/accounts/4917200000010', { business: true, pushName: 'Corner Shop' });
    const customer = await network.link();
    const heard = new Promise<string | null | undefined>((resolve) => {
      customer.socket.ev.on('messages.upsert', ({ messages }) => {
        for (const { key, verifiedBizName } of messages) if (!key.fromMe) resolve(verifiedBizName);
      });
    });
    await shop.socket.sendMessage(customer.jid, { text: 'your order' });
    expect(await heard).to.equal('Corner Shop');
  });

  it("tells the sender when the recipient's client delivered and read", async () => {
    const [alice, bob] = [await network.link(), await network.link()];
    const seen: number[] = [];
    alice.socket.ev.on('messages.update', (updates) => seen.push(...updates.map(({ update }) => update.status!)));
    bob.socket.ev.on('messages.upsert', ({ messages }) => {
      const mine = messages.filter(({ key }) => !key.fromMe).map(({ key }) => key);
      if (mine.length > 0) void bob.socket.readMessages(mine);
    });
    await alice.socket.sendMessage(bob.jid, { text: 'read me' });
    await eventually(() => expect(seen).to.include(4));
  });

  it('delivers what came while the client was away', async () => {
    const [alice, bob] = [await network.link(), await network.link()];
    await bob.socket.end(undefined);
    await alice.socket.sendMessage(bob.jid, { text: 'while you were out' });
    const device = () => network.simulator.network.accounts.findDevice(bob.number, 1);
    await eventually(() => expect(device()?.mailbox.size).to.be.above(0));
    const back = network.connect(bob.state);
    const heard = new Promise<unknown>((resolve) => {
      back.socket.ev.on('messages.upsert', ({ messages }) => {
        const texts = messages.map(({ message }) => message?.conversation ?? message?.extendedTextMessage?.text);
        if (texts.includes('while you were out')) resolve(true);
      });
    });
    expect(await heard).to.equal(true);
    await eventually(() => expect(device()?.mailbox.size).to.equal(0));
  });
});
