import { randomBytes } from 'node:crypto';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';

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

  it('proves itself with a chain that leads from the root to its static key', async () => {
    const { network: state } = network.simulator;
    expect(state.credentials.rootPublicKey.toString('hex')).to.equal(network.simulator.rootPublicKeyHex);
  });
});
