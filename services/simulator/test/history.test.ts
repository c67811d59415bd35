import { eventually } from '@gateway/testkit/eventually';
import type { BaileysEventMap } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import { connect, type Linked, linkByQr, newState, type StockSocket } from './support/stock-client.js';

type History = BaileysEventMap['messaging-history.set'];

describe('the history of a newly linked client', () => {
  const network = useSimulator();
  const number = '4919000000001';
  const friend = '4919000000002';

  let first: Linked;

  const collect = (socket: StockSocket) => {
    const histories: History[] = [];
    socket.ev.on('messaging-history.set', (history) => histories.push(history));
    return histories;
  };

  /** A second client of the account, and everything that it is told of the past. */
  async function linkAnother() {
    const state = newState();
    const scan = (qr: string) => void network.admin('POST', `/admin/mock-phone/scan-qr?number=${number}`, qr);
    await connect(network.simulator, state, {}, scan).outcome;
    const { socket, outcome } = network.connect(state);
    const histories = collect(socket);
    await outcome;
    return { socket, histories };
  }

  before(async () => {
    first = await network.link({}, number);
    const remembersSent = (count: number) =>
      eventually(() => expect(network.simulator.network.phones.phone(number).sent).to.have.length(count));
    await first.socket.sendMessage(`${friend}@s.whatsapp.net`, { text: 'one' });
    await remembersSent(1);
    await network.admin('POST', `/admin/phones/${friend}/messages`, { to: number, text: 'two', id: 'TWO' });
    await first.socket.sendMessage(`${friend}@s.whatsapp.net`, { text: 'three' });
    await remembersSent(2);
  });

  it('has the conversations of the phone, the names of people, and where the hidden identifiers lead', async () => {
    const { socket, histories } = await linkAnother();
    await eventually(() => {
      const texts = histories.flatMap(({ messages }) => messages.map(({ message }) => message?.conversation));
      return expect(texts).to.include.members(['one', 'two', 'three']);
    });
    const chats = histories.flatMap((each) => each.chats);
    expect(chats.map(({ id }) => id)).to.include(`${friend}@s.whatsapp.net`);
    const mine = histories.flatMap(({ messages }) => messages).filter(({ key }) => key.fromMe);
    expect(mine.map(({ message }) => message?.conversation)).to.include.members(['one', 'three']);
    const lid = network.simulator.network.directory.jidOf(friend, 'lid');
    expect(await socket.signalRepository.lidMapping.getLIDForPN(`${friend}@s.whatsapp.net`)).to.equal(lid);
    await eventually(() => expect(network.simulator.network.accounts.findDevice(number, 2)?.introduced).to.equal(true));
  });

  it('goes further back on request', async () => {
    const histories = collect(first.socket);
    const key = { remoteJid: `${friend}@s.whatsapp.net`, fromMe: false, id: 'TWO' };
    const request = await first.socket.fetchMessageHistory(10, key, Date.now());
    await eventually(() => {
      const answer = histories.find(({ peerDataRequestSessionId }) => peerDataRequestSessionId === request);
      return expect(answer?.messages.map(({ message }) => message?.conversation)).to.deep.equal(['one']);
    });
  });

  it('is empty for an account with an empty phone', async () => {
    const linked = await linkByQr(network.simulator);
    const device = network.simulator.network.accounts.findDevice(linked.number, 1);
    await eventually(() => expect(device).to.include({ introduced: true }));
    expect(network.simulator.office.writer.written().filter(({ from }) => from === linked.number)).to.deep.equal([]);
    await linked.socket.end(undefined);
  });
});
