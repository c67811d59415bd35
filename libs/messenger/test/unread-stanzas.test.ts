import { type BinaryNode, node } from '@gateway/simulator/wire/nodes';
import { eventually } from '@gateway/testkit/eventually';
import { proto } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { makeNumbers, makePlatformId, type TestSession, useSessions } from './support/session-fixture.js';

const FRIEND = '491709999999@s.whatsapp.net';
const STATUS = 'status@broadcast';
const GROUP = '120363000000000001@g.us';
const NEWSLETTER = '120363298765432100@newsletter';

/** As a member of a group tells the others what its messages are sealed with. */
function groupKey(): Uint8Array {
  const signingKey = Buffer.concat([Buffer.of(5), Buffer.alloc(32, 1)]);
  const key = { id: 1, iteration: 0, chainKey: Buffer.alloc(32, 2), signingKey };
  return Buffer.concat([Buffer.of(0x33), proto.SenderKeyDistributionMessage.encode(key).finish()]);
}

describe('what no session reads', () => {
  const said: BinaryNode[] = [];
  const sessions = useSessions({ trace: (direction, _, stanza) => void (direction === 'in' && said.push(stanza)) });
  let test: TestSession & { phone: string };
  let lastId = 0;
  beforeEach(async () => {
    test = await sessions.openLinked({ phoneAnswerMs: 500 });
    said.length = 0;
  });

  const device = () => [...sessions.simulator.network.accounts.ensure(test.phone).devices.values()][0]!;
  const attrsOf = (more: Record<string, string>) => {
    lastId += 1;
    return { id: `unread-${lastId}`, t: String(Math.floor(Date.now() / 1000)), ...more };
  };
  const sealed = (type: string) => [node('enc', { v: '2', type }, Buffer.from('not to be decrypted'))];
  const post = (...stanzas: BinaryNode[]) => {
    for (const stanza of stanzas) device().mailbox.post(stanza);
    return stanzas.map(({ attrs }) => attrs.id!);
  };
  const isKept = (id: string) =>
    device()
      .mailbox.save()
      .some(({ attrs }) => attrs.id === id);
  const ackOf = (id: string) => said.find(({ tag, attrs }) => tag === 'ack' && attrs.id === id)?.attrs;
  const retriesOf = (id: string) =>
    said.filter(({ tag, attrs }) => tag === 'receipt' && attrs.id === id && attrs.type === 'retry');

  it('is confirmed plainly, once, and not asked for again', async () => {
    const participant = '100000000000001@lid';
    const ids = post(
      node('status', attrsOf({ from: STATUS, participant, type: 'media' }), sealed('skmsg')),
      node('message', attrsOf({ from: STATUS, participant, type: 'media' }), sealed('skmsg')),
      node('message', attrsOf({ from: NEWSLETTER, type: 'text' }), [node('plaintext', {}, Buffer.from('news'))]),
      node('notification', attrsOf({ from: NEWSLETTER, type: 'newsletter' }), [node('live_updates')]),
      node('message', attrsOf({ from: FRIEND, type: 'text' }), Array(4).fill(sealed('msg')).flat()),
      node('call', attrsOf({ from: FRIEND }), [node('offer', { 'call-id': 'c1', 'call-creator': FRIEND })]),
      node('novelty', attrsOf({ from: FRIEND, type: 'of_next_year' })),
      node('message', attrsOf({ from: GROUP, participant, type: 'text' }), [...sealed('pkmsg'), ...sealed('skmsg')]),
      node('message', attrsOf({ from: '1700000000@broadcast', participant, type: 'text' }), sealed('skmsg')),
    );
    await eventually(() => ids.every((id) => !isKept(id)));
    for (const id of ids) {
      expect(ackOf(id)).not.to.have.property('error');
      expect(retriesOf(id)).to.deep.equal([]);
      expect(said.filter(({ attrs }) => attrs.id === id)).to.have.length(1);
    }
    expect(ackOf(ids[0]!)).to.include({ class: 'status', to: STATUS, participant, type: 'media' });
    expect(ackOf(ids[1]!)).to.include({ class: 'message', to: STATUS, participant });
    expect(ackOf(ids[5]!)).to.include({ class: 'call', to: FRIEND });
    expect(ackOf(ids[7]!)).to.include({ class: 'message', to: GROUP, participant });
  });

  it('no group keys are stored, whichever message brings them', async () => {
    const [friend] = makeNumbers(1) as [string];
    const ordinary = { groupId: GROUP, axolotlSenderKeyDistributionMessage: groupKey() };
    for (const groupId of [GROUP, 'invented@g.us']) {
      const message = { conversation: groupId, senderKeyDistributionMessage: { ...ordinary, groupId } };
      await sessions.simulator.office.writer.write(friend, test.phone, message);
    }
    await eventually(() => test.reports.filter(({ event }) => event === 'message').length === 2);
    await eventually(() => device().mailbox.size === 0);
    const kept = [...test.keyStore.keys.keys()];
    expect(kept.filter((key) => key.startsWith('session/'))).not.to.deep.equal([]);
    expect(kept.filter((key) => key.startsWith('sender-key'))).to.deep.equal([]);
  });

  it('a message that cannot be decrypted: it is asked for again, and confirmed without an error', async () => {
    const ids = post(
      node('message', attrsOf({ from: FRIEND, type: 'text' }), sealed('msg')),
      node('message', attrsOf({ from: FRIEND, type: 'text' }), sealed('pkmsg')),
      node('message', attrsOf({ from: FRIEND, type: 'text' }), sealed('msmsg')),
      node('message', attrsOf({ from: FRIEND, type: 'text' }), [node('unavailable', { type: 'view_once' })]),
      node('message', attrsOf({ from: FRIEND, type: 'text' }), [node('unavailable')]),
    );
    await eventually(() => ids.every((id) => !isKept(id)));
    await eventually(() => retriesOf(ids[0]!).length > 0);
    for (const id of ids) {
      expect(ackOf(id) ?? {}).not.to.have.property('error');
      expect(retriesOf(id).length).to.be.below(2);
    }
  });

  it('does not hold up a STOP behind it, however much there is', async () => {
    const [friend] = makeNumbers(1) as [string];
    post(...Array.from({ length: 40 }, () => node('message', attrsOf({ from: FRIEND, type: 'text' }), sealed('msg'))));
    await sessions.admin('POST', `phones/${friend}/messages`, { to: test.phone, text: 'STOP' });
    const startedAtMs = performance.now();
    await test.next('message');
    expect(performance.now() - startedAtMs).to.be.below(2_000);
  });

  it('a question whether we are there is answered, also without a type; an answer is not', async () => {
    const server = { from: 's.whatsapp.net', xmlns: 'urn:xmpp:ping' };
    const { connection } = device();
    connection!.send(node('iq', { ...server, type: 'get', id: 'ping-1' }));
    connection!.send(node('iq', { ...server, type: 'result', id: 'ping-2' }));
    connection!.send(node('iq', { from: 's.whatsapp.net', id: 'ping-3' }, [node('ping')]));
    const answers = () => said.filter(({ attrs }) => attrs.type === 'result').map(({ attrs }) => attrs.id);
    await eventually(() => answers().includes('ping-3'));
    expect(answers()).to.deep.equal(['ping-1', 'ping-3']);
  });

  it('groups and communities are not asked for when they have changed, as the answer may be megabytes', async () => {
    const ibs = ['groups', 'communities'].map((type) =>
      node('ib', { from: 's.whatsapp.net' }, [node('dirty', { type, timestamp: '1700000000' })]),
    );
    for (const ib of ibs) device().connection!.send(ib);
    const queries = () => said.filter(({ tag }) => tag === 'iq').map(({ attrs }) => attrs.xmlns);
    await eventually(() => queries().filter((xmlns) => xmlns === 'urn:xmpp:whatsapp:dirty').length === 2);
    expect(queries()).to.not.include('w:g2');
  });

  it('a connection that ends for lack of an ack is opened again, like one that broke', async () => {
    device().connection!.send(node('stream:error', {}, [node('ack', { class: 'status' })]));
    expect(await test.next('closed')).to.include({ kind: 'reconnect', backoff: 'network' });
  });
});

describe("the account's settings", () => {
  const said: BinaryNode[] = [];
  const sessions = useSessions({ trace: (direction, _, stanza) => void (direction === 'in' && said.push(stanza)) });

  it('hold up no message and no STOP, although the network never answers for them', async () => {
    sessions.fault('iq', { silent: true }, { match: { xmlns: 'w:sync:app:state' }, count: 1_000 });
    const test = await sessions.openLinked();
    const [device] = sessions.simulator.network.accounts.ensure(test.phone).devices.values();
    await eventually(() => device!.introduced, { what: 'the history' });
    const collection = node('collection', { name: 'critical_block', version: '1' });
    const sync = { from: 's.whatsapp.net', type: 'server_sync', id: 'sync-1', t: '1' };
    device!.mailbox.post(node('notification', sync, [collection]));

    const startedAtMs = performance.now();
    const [friend] = makeNumbers(1) as [string];
    const message = { to: friend, platformId: makePlatformId(), content: { kind: 'text', text: '482913' } } as const;
    expect(await (await test.session.send(message)).ack).to.include({ kind: 'accepted' });
    await sessions.admin('POST', `phones/${friend}/messages`, { to: test.phone, text: 'STOP' });
    await test.next('message');
    expect(performance.now() - startedAtMs).to.be.below(3_000);
    await eventually(() => device!.mailbox.size === 0);
    expect(said.filter(({ attrs }) => attrs.xmlns === 'w:sync:app:state')).to.deep.equal([]);
  });
});
