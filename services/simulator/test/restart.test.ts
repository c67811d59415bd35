import { startSimulator } from '@gateway/simulator/start-simulator';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { muteSignalLibrary } from './support/mute-signal-library.js';
import { linkByQr, logIn } from './support/stock-client.js';

describe('a restart of the whole server', () => {
  muteSignalLibrary();

  it('keeps clients linked, sessions working and inboxes as they were', async () => {
    const first = await startSimulator({ seed: 'restart' });
    const client = await linkByQr(first, {}, '4912000000001');
    const jid = '4912000000002@s.whatsapp.net';
    await client.socket.sendMessage(jid, { text: 'before' });
    await eventually(() => [...first.network.phones.phone('4912000000002').inbox.rows()].length === 1);
    await client.socket.end(undefined);
    const state = await first.saveState();
    await first.close();

    const second = await startSimulator({ seed: 'restart', state });
    const back = await logIn(second, client.state);
    await back.socket.sendMessage(jid, { text: 'after' });
    await eventually(() => {
      const texts = [...second.network.phones.phone('4912000000002').inbox.rows()].map(({ text }) => text);
      return expect(texts).to.deep.equal(['before', 'after']);
    });
    expect(second.network.counters.decryptFailures).to.equal(0);
    await back.socket.end(undefined);
    await second.close();
  });

  it('refuses the state of another network', async () => {
    const one = await startSimulator({ seed: 'one' });
    const state = await one.saveState();
    await one.close();
    const other = await startSimulator({ seed: 'other', state }).catch((error: Error) => error);
    expect(other).to.have.property('message', 'state has another seed');
  });
});
