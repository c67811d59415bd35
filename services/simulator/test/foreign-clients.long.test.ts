import { sleep } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { eventually, PATIENCE_MS } from '@gateway/testkit/eventually';
import type makeStockSocket from '@whiskeysockets/baileys';
import { expect } from 'chai';
import pino from 'pino';
import { type Fixture, useSimulator } from './support/simulator-fixture.js';
import { newState, type StockState } from './support/stock-client.js';
import { type RunningZapo, startZapo } from './support/zapo-client.js';

interface Row {
  readonly text: string | null;
  readonly group?: string;
  readonly shown: number;
  readonly details?: { readonly unknownUser?: boolean };
}

const FRIEND = '4915144400001';
const rowsOf = async (network: Fixture, number: string) =>
  (await network.admin('GET', `/admin/phones/${number}/messages`)).body as Row[];

for (const profile of ['2026', '2025'] as const) {
  describe(`the client zapo-js 0.3.0 on the network of ${profile}`, () => {
    const network = useSimulator({ profile });
    const running: RunningZapo[] = [];
    const addressing = profile === '2026' ? 'lid' : 'pn';
    const jidOf = (number: string) => network.simulator.network.directory.jidOf(number, addressing);
    const isOnline = (number: string) =>
      eventually(() => network.simulator.network.accounts.findDevice(number, 1)?.connection !== undefined);

    async function linkByQr(number: string): Promise<RunningZapo> {
      const zapo = await startZapo(network.simulator, (qr) => {
        void network.admin('POST', `/admin/mock-phone/scan-qr?number=${number}`, qr);
      });
      running.push(zapo);
      await isOnline(number);
      return zapo;
    }

    after(async () => {
      for (const { client } of running) await client.disconnect();
    });

    it('links by QR, gets what is written to it, answers, writes to groups and logs out', async () => {
      const number = '4915144400002';
      const { client, texts, errors } = await linkByQr(number);
      await network.admin('POST', `/admin/phones/${FRIEND}/messages`, { to: number, text: 'hello zapo' });
      await eventually(() => expect(texts).to.include('hello zapo'));
      // It makes tokens from its own identifier and looks those of others up by number: to this network it shows none.
      const first = await client.sendMessage(jidOf(FRIEND), 'too early');
      expect(first.ack.error).to.equal(profile === '2026' ? 463 : undefined);
      await network.admin('PUT', `/admin/accounts/${number}`, { tokensRequired: false });
      expect((await client.sendMessage(jidOf(FRIEND), 'hello friend')).ack.error).to.equal(undefined);
      await eventually(async () =>
        expect((await rowsOf(network, FRIEND)).map(({ text }) => text)).to.include('hello friend'),
      );
      const made = await client.group.createGroup('people', [`${FRIEND}@s.whatsapp.net`]);
      const group = `${made.content[0]!.attrs.id}@g.us`;
      await client.sendMessage(group, 'hello group');
      await eventually(async () => expect((await rowsOf(network, FRIEND)).at(-1)).to.include({ group, shown: 1 }));
      await client.logout();
      await eventually(() => expect(network.simulator.network.accounts.find(number)?.isLinked).to.equal(false));
      expect(errors).to.deep.equal([]);
    });

    it('links by a code', async () => {
      const number = '4915144400003';
      const zapo = await startZapo(network.simulator);
      running.push(zapo);
      const code = await zapo.client.requestPairingCode(number);
      const { status } = await network.admin('POST', '/admin/mock-phone/enter-code', { number, code });
      expect(status).to.equal(200);
      await isOnline(number);
    });

    it(
      profile === '2026' ? 'leaves out what shows its recipients who it is' : 'is known to its recipients',
      async () => {
        const [row] = (await rowsOf(network, FRIEND)).filter(({ text }) => text === 'hello friend');
        expect(row!.details?.unknownUser).to.equal(profile === '2026' ? true : undefined);
      },
    );
  });
}

describe('Baileys 6.7.24 on the network of 2025', () => {
  const network = useSimulator({ profile: '2025', refreshAfterScan: true, codeVerdictMs: 5 });
  const sockets: ReturnType<typeof makeStockSocket>[] = [];

  /**
   * It takes a frame for a part of the handshake that comes before it has heard that its last one has left: so close to the network
   * that happens on a busy machine. As a person would, we begin again.
   */
  async function connect(state: StockState, onQr: (qr: string) => void = () => {}) {
    for (;;) {
      const attempt = await tryToConnect(state, onQr);
      if (await Promise.race([attempt.heard, sleep(PATIENCE_MS / 10)])) return attempt;
      attempt.socket.end(undefined);
    }
  }

  async function tryToConnect(state: StockState, onQr: (qr: string) => void) {
    const { makeWASocket }: { makeWASocket: typeof makeStockSocket } = await import(import.meta.resolve('baileys-6'));
    const logger = pino({ level: 'silent' });
    const socket = makeWASocket({
      auth: { creds: state.creds, keys: state.keys },
      waWebSocketUrl: network.simulator.socketUrl,
      logger,
    });
    sockets.push(socket);
    socket.ev.on('creds.update', (update) => Object.assign(state.creds, update));
    const [heard, ended] = [defer<true>(), defer<'open' | 'close'>()];
    socket.ev.on('connection.update', ({ connection, qr }) => {
      if (qr) onQr(qr);
      if (connection === 'open' || connection === 'close') ended.resolve(connection);
      if (qr || connection === 'open' || connection === 'close') heard.resolve(true);
    });
    return { socket, heard: heard.promise, ended: ended.promise };
  }

  after(async () => {
    for (const socket of sockets) await Promise.resolve(socket.end(undefined)).catch(() => {});
  });

  it('knows nothing of second scans and late verdicts, also when they are asked for', () => {
    expect(network.simulator.network.settings).to.include({ codeVerdictMs: 0, refreshAfterScan: false });
  });

  it('links, sends, is answered and logs out', async () => {
    const number = '4915144400004';
    const state = newState();
    const first = await connect(
      state,
      (qr) => void network.admin('POST', `/admin/mock-phone/scan-qr?number=${number}`, qr),
    );
    expect(await first.ended).to.equal('close');
    const { socket, ended } = await connect(state);
    expect(await ended).to.equal('open');
    const texts: unknown[] = [];
    socket.ev.on('messages.upsert', ({ messages }) =>
      texts.push(...messages.map(({ message }) => message?.conversation)),
    );
    await socket.sendMessage(`${FRIEND}@s.whatsapp.net`, { text: 'from 6.7.24' });
    await eventually(async () =>
      expect((await rowsOf(network, FRIEND)).at(-1)).to.include({ text: 'from 6.7.24', shown: 1 }),
    );
    await network.admin('POST', `/admin/phones/${FRIEND}/messages`, { to: number, text: 'to 6.7.24' });
    await eventually(() => expect(texts).to.include('to 6.7.24'));
    await socket.logout();
    await eventually(() => expect(network.simulator.network.accounts.find(number)?.isLinked).to.equal(false));
  });
});
