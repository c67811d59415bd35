import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';

const WAITING = 3_000;
const WRITERS = 30;

describe('a backlog of 3,000 messages', () => {
  const network = useSimulator({ profile: '2026' });

  it('comes whole, each message once, to a client that asks until the end mark', async () => {
    const { office, network: net } = network.simulator;
    const client = await network.link({ syncFullHistory: false });
    await client.socket.end(undefined);
    const device = net.accounts.findDevice(client.number, 1)!;
    await eventually(() => device.connection === undefined);
    for (let i = 0; i < WAITING; i += 1) {
      await office.writer.write(`49151555${String(10_000 + (i % WRITERS))}`, client.number, {
        conversation: `text ${i}`,
      });
    }
    const { socket } = network.connect(client.state);
    const seen = new Map<string, number>();
    socket.ev.on('messages.upsert', ({ messages }) => {
      for (const { message } of messages) {
        const text = message?.conversation ?? '';
        seen.set(text, (seen.get(text) ?? 0) + 1);
      }
    });
    let isOver = false;
    socket.ws.on('CB:ib,,offline', () => {
      isOver = true;
    });
    const ask = { tag: 'ib', attrs: {}, content: [{ tag: 'offline_batch', attrs: { count: '200' } }] };
    await eventually(
      async () => {
        if (!isOver && socket.ws.isOpen) await socket.sendNode(ask);
        return isOver;
      },
      { everyMs: 110 },
    );
    await eventually(() => expect(device.mailbox.size).to.equal(0));
    const texts = Array.from({ length: WAITING }, (_, i) => `text ${i}`);
    await eventually(() => expect(texts.filter((text) => seen.get(text) !== 1)).to.deep.equal([]));
  });
});
