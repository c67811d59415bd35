import { eventually } from '@gateway/testkit/eventually';
import { USyncQuery, USyncUser } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import type { Linked } from './support/stock-client.js';

function manyPeople(count: number): USyncQuery {
  const query = new USyncQuery().withContactProtocol().withLIDProtocol();
  for (let index = 0; index < count; index += 1) query.withUser(new USyncUser().withPhone(`+491910000${index}`));
  return query;
}

const DELIVERED = 3;

describe('faults on demand', () => {
  const network = useSimulator();
  let client: Linked;
  let lastNumber = 0;
  const nextNumber = () => {
    lastNumber += 1;
    return `49190${String(lastNumber).padStart(7, '0')}`;
  };
  const shown = (number: string) => [...(network.simulator.network.phones.known(number)?.inbox.rows() ?? [])];
  const strike = (rule: object) => network.admin('PUT', '/admin/faults', [rule]);

  /** Sends a text and gives the ack, or undefined when none came in time. */
  async function sendAndWait(number: string, timeoutMs = 300): Promise<Record<string, string> | undefined> {
    const acks: Record<string, string>[] = [];
    const note = ({ attrs }: { attrs: Record<string, string> }) => acks.push(attrs);
    client.socket.ws.on('CB:ack,class:message', note);
    const sent = await client.socket.sendMessage(`${number}@s.whatsapp.net`, { text: 'x' }).catch(() => undefined);
    const mine = () => acks.find(({ id }) => id === sent?.key.id);
    await eventually(() => mine() !== undefined, { timeoutMs }).catch(() => {});
    client.socket.ws.off('CB:ack,class:message', note);
    return mine();
  }

  beforeEach(async () => {
    await network.admin('DELETE', '/admin/faults');
    client = await network.link();
  });

  it('drops acks: the message is shown, the sender is not told', async () => {
    const number = nextNumber();
    await strike({ on: 'message', match: { recipient: number }, do: { dropAck: true } });
    expect(await sendAndWait(number)).to.equal(undefined);
    expect(shown(number)).to.have.length(1);
  });

  it('delays acks', async () => {
    await strike({ on: 'message', do: { delayMs: 200 } });
    const start = Date.now();
    expect(await sendAndWait(nextNumber(), 2_000)).to.not.equal(undefined);
    expect(Date.now() - start).to.be.at.least(200);
  });

  it('refuses with a code, for as many messages as the rule says', async () => {
    await strike({ on: 'message', do: { ackError: 479 }, count: 1 });
    const number = nextNumber();
    expect(await sendAndWait(number)).to.include({ error: '479' });
    expect(shown(number)).to.have.length(0);
    expect(await sendAndWait(number)).to.not.have.property('error');
  });

  it('lets as many events pass first as the rule says', async () => {
    await strike({ on: 'message', do: { ackError: 503 }, skip: 1, count: 1 });
    expect(await sendAndWait(nextNumber())).to.not.have.property('error');
    expect(await sendAndWait(nextNumber())).to.include({ error: '503' });
  });

  it('closes before the ack: the message counts, or does not when the rule says so', async () => {
    for (const accept of [true, false]) {
      const number = nextNumber();
      const other = await network.link();
      client = other;
      await strike({ on: 'message', do: { closeBeforeAck: true, accept }, count: 1 });
      expect(await sendAndWait(number)).to.equal(undefined);
      expect(await other.closed).to.equal(428);
      expect(shown(number)).to.have.length(accept ? 1 : 0);
    }
  });

  it('closes after the ack', async () => {
    await strike({ on: 'message', do: { closeAfterAck: true }, count: 1 });
    expect(await sendAndWait(nextNumber())).to.not.equal(undefined);
    expect(await client.closed).to.equal(428);
  });

  it('ends the stream with a code', async () => {
    await strike({ on: 'message', do: { streamError: 515 }, count: 1 });
    await sendAndWait(nextNumber());
    expect(await client.closed).to.equal(515);
  });

  it('ends the streams of an account at once on demand', async () => {
    const path = `/admin/accounts/${client.number}/stream-error`;
    expect((await network.admin('POST', path, { code: 503 })).status).to.equal(200);
    expect(await client.closed).to.equal(503);
  });

  it('answers queries with an error, by namespace', async () => {
    await strike({ on: 'iq', match: { xmlns: 'blocklist' }, do: { error: 500 }, count: 1 });
    const refused = await client.socket.fetchBlocklist().catch((error: Error) => error);
    expect(refused).to.be.instanceOf(Error);
    expect(await client.socket.fetchBlocklist()).to.deep.equal([]);
  });

  it('loses receipts', async () => {
    const number = nextNumber();
    await strike({ on: 'receipt', match: { recipient: number }, do: { silent: true } });
    const told = new Set<string>();
    client.socket.ev.on('messages.update', (updates) => {
      // What the own phone says of its copy is none of the recipient's business.
      for (const { key, update } of updates) if (update.status! >= DELIVERED) told.add(key.remoteJid!);
    });
    const lucky = nextNumber();
    await sendAndWait(number);
    await sendAndWait(lucky);
    await eventually(() => expect(told).to.have.property('size', 1));
    expect([...told]).to.deep.equal([`${lucky}@s.whatsapp.net`]);
    expect(shown(number)).to.have.length(1);
  });

  it('slows every stanza down by the latency', async () => {
    await network.admin('PUT', '/admin/faults', { latencyMs: 150 });
    const start = Date.now();
    await client.socket.fetchBlocklist();
    expect(Date.now() - start).to.be.within(140, 600);
  });

  it('narrows the line to a client, and keeps the order of what it sends', async () => {
    await strike({ on: 'wire', match: { account: client.number }, do: { bytesPerSecond: 10_000, jitterMs: 20 } });
    const answers: number[] = [];
    const start = Date.now();
    const query = () => client.socket.executeUSyncQuery(manyPeople(100));
    await Promise.all([0, 1, 2].map((index) => query().then(() => answers.push(index))));
    expect(answers).to.deep.equal([0, 1, 2]);
    expect(Date.now() - start).to.be.above(1_000);
  });

  it('refuses rules it does not understand', async () => {
    const { status } = await network.admin('PUT', '/admin/faults', [{ on: 'message', do: { explode: true } }]);
    expect(status).to.equal(400);
  });
});
