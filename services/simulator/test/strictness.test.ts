import { createHash, randomBytes } from 'node:crypto';
import { eventually } from '@gateway/testkit/eventually';
import {
  Curve,
  getBinaryNodeChild,
  getBinaryNodeChildBuffer,
  getBinaryNodeChildren,
  proto,
} from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import { newState } from './support/stock-client.js';

describe('what phones and server do not accept', () => {
  const network = useSimulator();
  const counters = () => network.simulator.network.counters;

  it('asks again when a client goes back to keys it used before', async () => {
    const client = await network.link({ getMessage: async () => ({ conversation: 'again' }) });
    const jid = '4916000000001@s.whatsapp.net';
    await client.socket.sendMessage(jid, { text: 'one' });
    const goBack = client.state.keys.snapshot();
    await client.socket.sendMessage(jid, { text: 'two' });
    const failures = counters().decryptFailures;
    goBack();
    await client.socket.sendMessage(jid, { text: 'three' });
    await eventually(() => expect(counters().decryptFailures).to.be.above(failures));
    await eventually(() => {
      const rows = [...network.simulator.network.phones.phone('4916000000001').inbox.rows()];
      return expect(rows.map(({ text, shown }) => [text, shown])).to.deep.equal([
        ['one', 1],
        ['two', 1],
        ['three', 1],
      ]);
    });
  });

  it('refuses a message for a device that is not linked any more', async () => {
    const [one, two] = [await network.link(), await network.link()];
    await one.socket.sendMessage(two.jid, { text: 'fresh' });
    network.simulator.network.accounts.find(two.number)?.devices.delete(1);
    const ack = new Promise<Record<string, string>>((resolve) =>
      one.socket.ws.on('CB:ack,class:message', ({ attrs }: { attrs: Record<string, string> }) => resolve(attrs)),
    );
    await one.socket.sendMessage(two.jid, { text: 'stale' });
    expect(await ack).to.include({ error: '479' });
  });

  it('refuses pre-keys whose signature does not verify', async () => {
    const client = await network.link();
    const field = (tag: string, content: Buffer) => ({ tag, attrs: {}, content });
    const skey = [
      field('id', Buffer.from([0, 0, 2])),
      field('value', randomBytes(32)),
      field('signature', randomBytes(64)),
    ];
    const rotate = { tag: 'rotate', attrs: {}, content: [{ tag: 'skey', attrs: {}, content: skey }] };
    const attrs = { to: 's.whatsapp.net', type: 'set', xmlns: 'encrypt' };
    const refused = await client.socket.query({ tag: 'iq', attrs, content: [rotate] }).catch((error: Error) => error);
    expect(refused).to.have.property('message', 'not-acceptable');
  });

  it('shows nothing of a sender whose device identity does not verify, and asks again', async () => {
    const client = await network.link();
    client.state.creds.account!.accountSignature = randomBytes(64);
    const before = counters().invalidSignatures;
    await client.socket.sendMessage('4916000000002@s.whatsapp.net', { text: 'forged' });
    await eventually(() => expect(counters().invalidSignatures).to.be.above(before));
    const rows = [...network.simulator.network.phones.phone('4916000000002').inbox.rows()];
    expect(rows.every(({ shown }) => shown === 0)).to.equal(true);
  });

  it('tells clients that a phone was set up again, and reads what they send afterwards', async () => {
    const client = await network.link();
    const number = '4916000000003';
    const jid = `${number}@s.whatsapp.net`;
    const texts = () => [...network.simulator.network.phones.phone(number).inbox.rows()].map(({ text }) => text);
    await client.socket.sendMessage(jid, { text: 'old phone' });
    await eventually(() => texts().length === 1);
    const bundles = counters().keyBundles;
    await network.admin('POST', `/admin/phones/${number}/reinstall`);
    await eventually(() => counters().keyBundles > bundles);
    await client.socket.sendMessage(jid, { text: 'new phone' });
    await eventually(() => expect(texts()).to.deep.equal(['old phone', 'new phone']));
  });

  it('gives every one-time key out once, and asks for more before they run out', async () => {
    const client = await network.link();
    const stock = network.simulator.network.accounts.findDevice(client.number, 1)!.preKeys;
    const ids = new Set<number>();
    while (stock.count > 5) ids.add(stock.take()!.keyId);
    const other = await network.link();
    const jid = client.state.creds.me!.id;
    for (let asked = 0; asked < 2; asked += 1) await other.socket.assertSessions([jid], true);
    await eventually(() => expect(stock.count).to.be.above(4));
    expect(ids.size).to.be.above(800);
  });

  it('tells a client a digest of its keys that it can check', async () => {
    const client = await network.link();
    const stock = network.simulator.network.accounts.findDevice(client.number, 1)!.preKeys;
    await eventually(() => expect(stock.count).to.be.above(800));
    const attrs = { to: 's.whatsapp.net', type: 'get', xmlns: 'encrypt' };
    const query = { tag: 'iq', attrs, content: [{ tag: 'digest', attrs: {} }] };
    const digest = getBinaryNodeChild(await client.socket.query(query), 'digest');
    const ids = getBinaryNodeChildren(getBinaryNodeChild(digest, 'list'), 'id').map(({ content }) =>
      String(Buffer.from(content as Uint8Array).readUIntBE(0, 3)),
    );
    const { signedIdentityKey, signedPreKey } = client.state.creds;
    const own = await client.state.keys.get('pre-key', ids);
    const hash = createHash('sha1').update(signedIdentityKey.public);
    hash.update(signedPreKey.keyPair.public).update(signedPreKey.signature);
    for (const id of ids) hash.update(own[id]!.public);
    expect(getBinaryNodeChildBuffer(digest, 'hash')).to.deep.equal(hash.digest());
  });

  it("shows with a linked client's keys that its phone vouched for them", async () => {
    const [asking, asked] = [await network.link(), await network.link()];
    const jid = asked.state.creds.me!.id;
    const attrs = { to: 's.whatsapp.net', type: 'get', xmlns: 'encrypt' };
    const users = [{ tag: 'user', attrs: { jid } }];
    const answer = await asking.socket.query({
      tag: 'iq',
      attrs,
      content: [{ tag: 'key', attrs: {}, content: users }],
    });
    const user = getBinaryNodeChild(getBinaryNodeChild(answer, 'list'), 'user');
    const shown = proto.ADVSignedDeviceIdentity.decode(getBinaryNodeChildBuffer(user, 'device-identity')!);
    const { details, accountSignature, deviceSignature, accountSignatureKey } = asked.state.creds.account!;
    expect(shown.details).to.deep.equal(Buffer.from(details!));
    const signed = [Buffer.from([6, 0]), shown.details!, getBinaryNodeChildBuffer(user, 'identity')!];
    expect(Curve.verify(accountSignatureKey!, Buffer.concat(signed), shown.accountSignature!)).to.equal(true);
    expect(shown.accountSignature).to.deep.equal(Buffer.from(accountSignature!));
    expect(shown.deviceSignature).to.deep.equal(Buffer.from(deviceSignature!));
  });

  it('forgets QR codes whose time is over', async () => {
    const strict = network.simulator.network.settings;
    const { firstQrMs } = strict;
    strict.firstQrMs = -10_000;
    const attempt = network.connect(newState());
    const qr = await new Promise<string>((resolve) =>
      attempt.socket.ev.on('connection.update', (update) => update.qr && resolve(update.qr)),
    );
    const { status } = await network.admin('POST', '/admin/mock-phone/scan-qr', qr);
    strict.firstQrMs = firstQrMs;
    expect(status).to.equal(409);
  });

  it('proves itself with a chain that leads from the root to its static key', async () => {
    const { network: state } = network.simulator;
    expect(state.credentials.rootPublicKey.toString('hex')).to.equal(network.simulator.rootPublicKeyHex);
  });
});
