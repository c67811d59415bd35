import { eventually } from '@gateway/testkit/eventually';
import { type BinaryNode, proto, USyncQuery, USyncUser } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import type { Linked } from './support/stock-client.js';

describe('lookups', () => {
  const network = useSimulator();
  let client: Linked;

  before(async () => {
    client = await network.link();
    await network.admin('PUT', '/admin/phones/4918000000404', { exists: false });
  });

  it('says which numbers are on the messenger', async () => {
    const query = new USyncQuery().withContactProtocol();
    for (const number of ['4918000000001', '4918000000404']) query.withUser(new USyncUser().withPhone(`+${number}`));
    const answer = await client.socket.executeUSyncQuery(query);
    expect(answer?.list).to.deep.equal([
      { id: '4918000000001@s.whatsapp.net', contact: true },
      { id: '4918000000404@s.whatsapp.net', contact: false },
    ]);
    const found = await client.socket.onWhatsApp('4918000000001', '4918000000404');
    expect(found).to.deep.equal([{ jid: '4918000000001@s.whatsapp.net', exists: true }]);
  });

  it('answers contact, devices and hidden identifier of many people in one query', async () => {
    const query = new USyncQuery().withContactProtocol().withDeviceProtocol().withLIDProtocol();
    for (let index = 0; index < 300; index += 1) {
      query.withUser(new USyncUser().withPhone(`+49181${String(index).padStart(7, '0')}`));
    }
    const answer = await client.socket.executeUSyncQuery(query);
    expect(answer?.list).to.have.length(300);
    expect(answer?.list[17]).to.deep.include({ id: '491810000017@s.whatsapp.net', contact: true });
    expect(answer?.list[17]?.lid).to.match(/^\d+@lid$/);
  });

  it('finds Brazilian mobiles by both forms, under the one that their area uses', async () => {
    const typed = ['551187654321', '5511987654321', '5531987654321', '553187654321'];
    const query = new USyncQuery().withContactProtocol();
    for (const number of typed) query.withUser(new USyncUser().withPhone(`+${number}`));
    const answer = await client.socket.executeUSyncQuery(query);
    expect(answer?.list.map(({ id }) => id.split('@')[0])).to.deep.equal([
      '5511987654321',
      '5511987654321',
      '553187654321',
      '553187654321',
    ]);
  });

  it('maps hidden identifiers back to their numbers', () => {
    const { directory } = network.simulator.network;
    for (const number of ['12345', '4918000000001', '999999999999999', '5511987654321']) {
      const lid = directory.jidOf(number, 'lid');
      expect(directory.resolve(lid)).to.deep.equal({ number, device: 0, addressing: 'lid' });
    }
  });

  it('gives no devices and no keys for a number that does not exist', async () => {
    const query = new USyncQuery()
      .withDeviceProtocol()
      .withUser(new USyncUser().withId('4918000000404@s.whatsapp.net'));
    const answer = await client.socket.executeUSyncQuery(query);
    expect(answer?.list[0]?.devices).to.deep.include({ deviceList: [] });
  });

  it('answers others while it makes the keys of many', async () => {
    const answers: string[] = [];
    const askFor = (count: number, series: number) =>
      client.socket
        .query({
          tag: 'iq',
          attrs: { xmlns: 'encrypt', type: 'get', to: 's.whatsapp.net' },
          content: [{ tag: 'key', attrs: {}, content: people(count, series) }],
        })
        .then((answer) => {
          const list = (answer.content as BinaryNode[])[0]!;
          answers.push(`${(list.content as BinaryNode[]).length} bundles`);
        });
    const people = (count: number, series: number): BinaryNode[] =>
      Array.from({ length: count }, (_, i) => {
        return { tag: 'user', attrs: { jid: `${491820000000 + series * 1_000 + i}@s.whatsapp.net` } };
      });
    await Promise.all([askFor(500, 1), askFor(1, 2)]);
    expect(answers).to.deep.equal(['1 bundles', '500 bundles']);
  });

  it('lists the linked clients of an account beside its phone', async () => {
    const query = new USyncQuery().withDeviceProtocol().withUser(new USyncUser().withId(client.jid));
    const answer = await client.socket.executeUSyncQuery(query);
    const { deviceList, keyIndex } = answer!.list[0]!.devices as {
      deviceList: { id: number }[];
      keyIndex: { signedKeyIndex: Uint8Array };
    };
    expect(deviceList.map(({ id }) => id)).to.deep.equal([0, 1]);
    const signed = proto.ADVSignedKeyIndexList.decode(keyIndex.signedKeyIndex);
    expect(proto.ADVKeyIndexList.decode(signed.details!).validIndexes).to.deep.equal([0, 1]);
  });

  it('shows a profile picture that can be fetched, unless its owner hides it', async () => {
    const url = await client.socket.profilePictureUrl('4918000000001@s.whatsapp.net');
    const response = await fetch(url!);
    expect(response.headers.get('content-type')).to.equal('image/png');
    await network.admin('PUT', '/admin/phones/4918000000001', { picture: false });
    const error = await client.socket
      .profilePictureUrl('4918000000001@s.whatsapp.net')
      .catch((reason: Error) => reason);
    expect(error).to.have.property('message', 'not-authorized');
  });

  it('answers every query that a client opens with', () => {
    expect(network.simulator.network.counters.unknownIqs).to.equal(0);
  });

  it('reports the restrictions of an account truthfully, and refuses what they forbid', async () => {
    const until = Math.ceil(Date.now() / 1000) * 1000 + 60_000;
    const told = new Promise<boolean>((resolve) => {
      client.socket.ev.on('connection.update', ({ reachoutTimeLock }) => reachoutTimeLock?.isActive && resolve(true));
    });
    await network.admin('PUT', `/admin/accounts/${client.number}`, { restrictions: { reachoutLockedUntilMs: until } });
    expect(await told).to.equal(true);
    const lock = await client.socket.fetchAccountReachoutTimelock();
    expect(lock).to.deep.include({ isActive: true, timeEnforcementEnds: new Date(until) });
    const ack = new Promise<Record<string, string>>((resolve) =>
      client.socket.ws.on('CB:ack,class:message', ({ attrs }: { attrs: Record<string, string> }) => resolve(attrs)),
    );
    await client.socket.sendMessage('4918000000002@s.whatsapp.net', { text: 'new chat' });
    expect(await ack).to.include({ error: '463' });
    await network.admin('PUT', `/admin/accounts/${client.number}`, { restrictions: {} });
    expect(await client.socket.fetchAccountReachoutTimelock()).to.deep.include({ isActive: false });
  });

  it('counts new conversations where the account may open only some, and goes on with the old ones', async () => {
    const fresh = await network.link();
    const errors = new Map<string, string | undefined>();
    fresh.socket.ws.on('CB:ack,class:message', ({ attrs }: { attrs: Record<string, string> }) =>
      errors.set(attrs.from!, attrs.error),
    );
    const [known, first, second] = [1, 2, 3].map((last) => `491820000000${last}@s.whatsapp.net`) as [
      string,
      string,
      string,
    ];
    await fresh.socket.sendMessage(known, { text: 'before' });
    await eventually(() => errors.has(known));
    const restrictions = { newChatCap: { total: 1, used: 0 } };
    await network.admin('PUT', `/admin/accounts/${fresh.number}`, { restrictions });
    for (const jid of [known, first, second]) await fresh.socket.sendMessage(jid, { text: 'after' });
    await eventually(() =>
      expect([...errors]).to.deep.equal([
        [known, undefined],
        [first, undefined],
        [second, '463'],
      ]),
    );
    expect(await fresh.socket.fetchNewChatMessageCap()).to.deep.include({ total_quota: 1, used_quota: 1 });
  });

  it('gives settings that one client changed to the others of the account, one by one', async () => {
    const [one, two] = [await network.link({}, '4918100000001'), await network.link({}, '4918100000001')];
    const jid = '4918100000002@s.whatsapp.net';
    const names: (string | undefined)[] = [];
    two.socket.ev.on('contacts.upsert', (contacts) => names.push(...contacts.map(({ name }) => name)));
    for (const fullName of ['First', 'Second', 'Third']) await one.socket.addOrEditContact(jid, { fullName });
    await eventually(() => expect(names.at(-1)).to.equal('Third'));
    const three = await network.link({}, '4918100000001');
    const known = new Promise<boolean>((resolve) => {
      three.socket.ev.on(
        'contacts.upsert',
        (contacts) => contacts.some(({ name }) => name === 'Third') && resolve(true),
      );
    });
    await three.socket.resyncAppState(['critical_unblock_low'], true);
    expect(await known).to.equal(true);
  });

  it('keeps what clients of an account tell each other through shared settings', async () => {
    await client.socket.updateProfileName('Grace');
    const { appState } = network.simulator.network.accounts.ensure(client.number);
    expect([...appState.values()].flat()).to.have.length(1);
    await client.socket.updateBlockStatus('4918000000001@s.whatsapp.net', 'block').catch(() => {});
    expect(await client.socket.fetchBlocklist()).to.have.length(1);
  });
});
