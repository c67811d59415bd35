import { eventually } from '@gateway/testkit/eventually';
import { type BinaryNode, getBinaryNodeChild, proto } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import type { Linked, StockSocket } from './support/stock-client.js';

const WRITER = '4915133300001';

describe('what waited for a client, in 2026', () => {
  const network = useSimulator({ profile: '2026' });
  const counters = () => network.simulator.network.counters;
  const write = (to: string, text = 'STOP') => network.admin('POST', `/admin/phones/${WRITER}/messages`, { to, text });

  const deviceOf = ({ number }: Linked) => network.simulator.network.accounts.findDevice(number, 1)!;
  let client: Linked;

  before(async () => {
    client = await network.link();
    // The first message of a person brings a token along.
    await write(client.number, 'hello');
    await eventually(() => expect(waitingOf(client)).to.equal(0));
  });

  /** The client goes away, and so many messages wait for it, nothing else. */
  async function away(count: number): Promise<Linked> {
    const device = deviceOf(client);
    await network.admin('POST', `/admin/accounts/${client.number}/stream-error`, { code: 503 });
    await eventually(() => device.connection === undefined);
    device.mailbox.clear();
    for (let i = 0; i < count; i += 1) await write(client.number);
    return client;
  }

  const waitingOf = (linked: Linked) => deviceOf(linked).mailbox.size;

  /** What arrives over a connection, in order: tags, and what stands in `<ib>`. */
  function watch(socket: StockSocket) {
    const seen: string[] = [];
    const nodes: BinaryNode[] = [];
    for (const tag of ['message', 'notification', 'status']) {
      socket.ws.on(`CB:${tag}`, ({ attrs }: BinaryNode) => seen.push(attrs.offline === undefined ? tag : `${tag}*`));
    }
    for (const tag of ['offline_preview', 'offline']) {
      socket.ws.on(`CB:ib,,${tag}`, (info: BinaryNode) => {
        seen.push(tag);
        nodes.push(getBinaryNodeChild(info, tag)!);
      });
    }
    return { seen, nodes };
  }

  const connect = (client: Linked) => {
    const attempt = network.connect(client.state);
    return { ...attempt, ...watch(attempt.socket) };
  };
  const ask = (socket: StockSocket, count: number) =>
    socket.sendNode({ tag: 'ib', attrs: {}, content: [{ tag: 'offline_batch', attrs: { count: String(count) } }] });

  it('is nothing by default: the end mark comes at once', async () => {
    await away(0);
    const { seen, nodes, outcome } = connect(client);
    await outcome;
    await eventually(() => expect(seen).to.deep.equal(['offline']));
    expect(nodes[0]!.attrs).to.deep.equal({ count: '0' });
  });

  it('is counted by kind and comes by batches; a stock client asks for one, and never sees the rest', async () => {
    await away(110);
    const { seen, nodes, socket } = connect(client);
    await eventually(() => expect(seen.filter((tag) => tag.endsWith('*'))).to.have.length(105));
    const { count, ...kinds } = nodes[0]!.attrs;
    expect(kinds).to.include({ message: '110', receipt: '0', status: '0', call: '0' });
    expect(Object.values(kinds).reduce((sum, each) => sum + Number(each), 0)).to.equal(Number(count));
    expect(seen).not.to.include('offline');
    // What is new does not wait for it.
    await write(client.number, 'new');
    await eventually(() => expect(seen.at(-1)).to.equal('message'));
    // Who asks in a hurry asks in vain.
    const { hastyBatchRequests } = counters();
    await Promise.all([1, 2, 3].map(() => ask(socket, 1)));
    await eventually(() => expect(counters().hastyBatchRequests).to.be.at.least(hastyBatchRequests + 2));
    expect(seen.filter((tag) => tag === 'message*').length).to.be.at.most(106);
    await eventually(
      async () => {
        await ask(socket, 1000);
        return seen.at(-1) === 'offline';
      },
      { everyMs: 120 },
    );
    expect(nodes.at(-1)!.attrs).to.deep.equal({ count });
    await eventually(() => expect(waitingOf(client)).to.equal(0));
  });

  it('may have an end mark that is late, or never comes', async () => {
    await away(1);
    const put = (endMarkMs: number | null) =>
      network.admin('PUT', `/admin/accounts/${client.number}`, { backlog: { endMarkMs } });
    await put(300);
    const late = connect(client);
    await eventually(() => expect(late.seen).to.deep.equal(['offline_preview', 'message*']));
    const sinceMs = performance.now();
    await eventually(() => expect(late.seen.at(-1)).to.equal('offline'));
    expect(performance.now() - sinceMs).to.be.above(100);
    await late.socket.end(undefined);
    await put(null);
    const never = connect(client);
    await never.outcome;
    await write(client.number, 'after');
    await eventually(() => expect(never.seen).to.deep.equal(['message']));
    await put(0);
  });

  it('can be withheld, with all that is new, and let go', async () => {
    await away(2);
    const put = (isWithheld: boolean) =>
      network.admin('PUT', `/admin/accounts/${client.number}`, { backlog: { isWithheld } });
    await put(true);
    const { seen, outcome } = connect(client);
    await outcome;
    await write(client.number);
    expect(seen).to.deep.equal(['offline_preview']);
    await put(false);
    await eventually(() => expect(seen).to.have.length(5));
    expect(seen.at(-1)).to.equal('offline');
  });

  it('comes to a client that logs in with passive=false although it never says that it is active', async () => {
    await away(1);
    await network.admin('PUT', '/admin/faults', [{ on: 'iq', match: { xmlns: 'passive' }, do: { silent: true } }]);
    const { logins } = deviceOf(client);
    const silent = connect(client);
    await eventually(() => expect(deviceOf(client).logins).to.equal(logins + 1));
    const { fromObject } = proto.ClientPayload;
    proto.ClientPayload.fromObject = (payload) => fromObject({ ...payload, passive: false });
    try {
      const { seen } = connect(client);
      await eventually(() => expect(seen).to.deep.equal(['offline_preview', 'message*', 'offline']));
    } finally {
      proto.ClientPayload.fromObject = fromObject;
      await network.admin('DELETE', '/admin/faults');
    }
    expect(silent.seen).to.deep.equal([]);
  });
});

function statusesOf({ socket }: Pick<Linked, 'socket'>): BinaryNode[] {
  const statuses: BinaryNode[] = [];
  socket.ws.on('CB:status', (status: BinaryNode) => statuses.push(status));
  return statuses;
}

describe('statuses in 2026', () => {
  const network = useSimulator({ profile: '2026' });
  let client: Linked;

  before(async () => {
    client = await network.link();
    await eventually(() => deviceOf(client).introduced);
  });

  const post = (to: string, more: object = {}) =>
    network.admin('POST', `/admin/phones/${WRITER}/status`, { to, ...more });
  const deviceOf = ({ number }: Linked) => network.simulator.network.accounts.findDevice(number, 1)!;

  const ackOf = ({ attrs }: BinaryNode, more: Record<string, string> = {}): BinaryNode => ({
    tag: 'ack',
    attrs: { class: 'status', id: attrs.id!, to: attrs.from!, participant: attrs.participant!, type: 'text', ...more },
  });

  it('are gone once they are confirmed', async () => {
    const statuses = statusesOf(client);
    await post(client.number, { text: 'seen' });
    await eventually(() => expect(statuses).to.have.length(1));
    await client.socket.sendNode(ackOf(statuses[0]!));
    await eventually(() => expect([...deviceOf(client).mailbox.keys()]).to.deep.equal([]));
  });

  it('withhold all that is behind them when they are refused, also at the next login, until they are confirmed', async () => {
    const statuses = statusesOf(client);
    await post(client.number);
    await eventually(() => expect(statuses).to.have.length(1));
    await client.socket.sendNode(ackOf(statuses[0]!, { error: '500' }));
    await eventually(() => expect(deviceOf(client).mailbox.isWithheld).to.equal(true));
    await network.admin('POST', `/admin/phones/${WRITER}/messages`, { to: client.number, text: 'STOP' });
    await client.socket.end(undefined);
    const next = network.connect(client.state);
    const again = statusesOf(next);
    const messages: BinaryNode[] = [];
    next.socket.ws.on('CB:message', (message: BinaryNode) => {
      // Not what its own phone tells a new client.
      if (message.attrs.category !== 'peer') messages.push(message);
    });
    await next.outcome;
    await eventually(() => expect(again).to.have.length(1));
    expect(messages).to.deep.equal([]);
    await next.socket.sendNode(ackOf(again[0]!));
    await eventually(() => expect(messages).to.have.length(1));
  });

  it('withhold the queue of a stock client that cannot read one which comes as a message', async () => {
    client = await network.logIn(client.state);
    await post(client.number, { undecryptable: true, stanza: 'message' });
    await eventually(() => expect(deviceOf(client).mailbox.isWithheld).to.equal(true));
    const waiting = deviceOf(client).mailbox.size;
    const messages: unknown[] = [];
    client.socket.ev.on('messages.upsert', (upsert) =>
      messages.push(...upsert.messages.filter(({ message }) => message)),
    );
    await network.admin('POST', `/admin/phones/${WRITER}/messages`, { to: client.number, text: 'STOP' });
    await eventually(() => expect(deviceOf(client).mailbox.size).to.be.above(waiting));
    expect(messages).to.deep.equal([]);
  });
});

describe('a status that nothing confirms', () => {
  const network = useSimulator({ profile: '2026', statusAckMs: 300 });

  it('comes again and ends the stream of a stock client, which confirms none', async () => {
    const client = await network.link();
    const statuses = statusesOf(client);
    const errors: BinaryNode[] = [];
    client.socket.ws.on('CB:stream:error', (error: BinaryNode) => errors.push(error));
    const posted = await network.admin('POST', `/admin/phones/${WRITER}/status`, { to: client.number });
    expect(posted.status).to.equal(201);
    expect(await client.closed).to.equal(500);
    expect(statuses).to.have.length(2);
    const [status] = statuses;
    expect(status!.attrs).to.include({ from: 'status@broadcast' });
    expect(status!.attrs.participant).to.match(/^\d+@lid$/);
    expect(getBinaryNodeChild(errors[0], 'ack')!.attrs).to.include({ class: 'status', id: status!.attrs.id });
    const again = network.connect(client.state);
    const offline = statusesOf(again);
    await eventually(() => expect(offline[0]?.attrs).to.include({ id: status!.attrs.id, offline: '0' }));
  });
});

describe('settings and pings in 2026', () => {
  const network = useSimulator({ profile: '2026' });
  let client: Linked;

  before(async () => {
    client = await network.link();
  });

  const collection = (name: string) => ({ tag: 'collection', attrs: { name, version: '0', return_snapshot: 'false' } });

  const query = ({ socket }: Linked) =>
    socket.query({
      tag: 'iq',
      attrs: { to: '@s.whatsapp.net', xmlns: 'w:sync:app:state', type: 'set' },
      content: [{ tag: 'sync', attrs: {}, content: [collection('critical_block'), collection('regular_high')] }],
    });

  it('can be late, missing or refused: all settings, or one collection', async () => {
    const match = { account: client.number, xmlns: 'w:sync:app:state', collection: 'regular_high' };
    const namesIn = (answer: BinaryNode) =>
      (getBinaryNodeChild(answer, 'sync')!.content as BinaryNode[]).map(({ attrs }) => [attrs.name, attrs.type]);
    await network.admin('PUT', '/admin/faults', [{ on: 'iq', match, do: { silent: true }, count: 1 }]);
    expect(namesIn(await query(client))).to.deep.equal([['critical_block', undefined]]);
    await network.admin('PUT', '/admin/faults', [{ on: 'iq', match, do: { error: 503 }, count: 1 }]);
    expect(namesIn(await query(client))).to.deep.equal([
      ['critical_block', undefined],
      ['regular_high', 'error'],
    ]);
    await network.admin('PUT', '/admin/faults', [{ on: 'iq', match, do: { delayMs: 100 }, count: 1 }]);
    const startMs = performance.now();
    await query(client);
    expect(performance.now() - startMs).to.be.at.least(99);
  });

  it('end the connection of a client that does not answer a ping, and spare one that does', async () => {
    const [deaf, alive] = [await network.link(), client];
    const pings: BinaryNode[] = [];
    alive.socket.ws.on('CB:iq,xmlns:urn:xmpp:ping', (ping: BinaryNode) => {
      pings.push(ping);
      void alive.socket.sendNode({ tag: 'iq', attrs: { type: 'result', to: ping.attrs.from! } });
    });
    await network.admin('PUT', '/admin/network', { serverPingMs: 300 });
    expect(await deaf.closed).to.equal(428);
    await eventually(() => expect(pings).to.have.length.above(2));
    expect(pings.slice(0, 2).map(({ attrs }) => attrs.type)).to.have.members(['get', undefined]);
    expect(network.simulator.network.counters.missedPongs).to.equal(1);
  });
});
