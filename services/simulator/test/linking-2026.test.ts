import { type Simulator, type SimulatorOptions, startSimulator } from '@gateway/simulator/start-simulator';
import { eventually } from '@gateway/testkit/eventually';
import { type BinaryNode, getBinaryNodeChild } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import { newState, renewSecret, type StockSocket } from './support/stock-client.js';

const NUMBER = '4915112345678';

describe('linking in 2026', () => {
  const network = useSimulator({ profile: '2026' });
  const scan = (qr: string, query = '') => network.admin('POST', `/admin/mock-phone/scan-qr${query}`, qr);

  /** A client that shows codes, all that it has shown, and the notifications that it got. */
  async function showCodes(state = newState(), config = {}) {
    const codes: string[] = [];
    const attempt = network.connect(state, config, (qr) => codes.push(qr));
    const notices = notificationsOf(attempt.socket);
    await eventually(() => expect(codes).not.to.be.empty);
    return { ...attempt, state, codes, notices };
  }

  it('never links a stock client, whichever of its codes is scanned', async () => {
    const { codes, notices, state } = await showCodes(newState(), { qrTimeout: 250 });
    await eventually(() => expect(codes).to.have.length.above(1));
    for (const code of codes.slice(0, 2)) {
      expect(await scan(code)).to.deep.equal({ status: 409, body: { error: 'scan again' } });
    }
    await eventually(() => expect(notices).to.have.length(1));
    expect(notices[0]).to.deep.include({ tag: 'notification' });
    expect(notices[0]!.attrs).to.include({ type: 'companion_reg_refresh' });
    expect(getBinaryNodeChild(notices[0], 'companion_reg_refresh')).not.to.equal(undefined);
    expect(state.creds.account).to.equal(undefined);
  });

  it('links a client that shows the current code again with a new secret', async () => {
    const client = await network.link({}, NUMBER);
    expect(client.number).to.equal(NUMBER);
    expect(client.state.creds.account).to.have.property('deviceSignature');
  });

  it('takes the namespace of the account from the person who holds the phone', async () => {
    const state = newState();
    const attempt = network.connect(state);
    renewSecret(attempt, state, (qr) => void scan(qr, '?number=4915112345670&addressing=pn'));
    await attempt.outcome;
    expect(network.simulator.network.accounts.find('4915112345670')?.addressing).to.equal('pn');
    expect((await scan('x', '?addressing=both')).status).to.equal(400);
  });

  it('links nothing to an account that demands a passkey', async () => {
    const number = '4915112345671';
    await network.admin('PUT', `/admin/accounts/${number}`, { passkey: true });
    const { codes, notices, state } = await showCodes();
    expect(await scan(codes[0]!, `?number=${number}`)).to.deep.equal({
      status: 409,
      body: { error: 'passkey required' },
    });
    await eventually(() => expect(notices).to.have.length(1));
    expect(notices[0]!.attrs).to.include({ type: 'passkey_prologue_request', from: '@s.whatsapp.net' });
    const options = JSON.parse(Buffer.from(hexOf(notices[0]!, 'passkey_request_options'), 'hex').toString());
    expect(options).to.include({ rpId: 'whatsapp.com' });
    expect(state.creds.account).to.equal(undefined);
  });
});

describe('linking by a typed code in 2026', () => {
  const number = '4915112345672';
  const network = useSimulator({ profile: '2026', codeVerdictMs: 60 });
  const enter = (code: string) => network.admin('POST', '/admin/mock-phone/enter-code', { number, code });

  async function requestCode(config = {}) {
    const state = newState();
    const attempt = network.connect(state, config);
    const notices = notificationsOf(attempt.socket);
    const qr = await new Promise<string>((resolve) => {
      attempt.socket.ev.on('connection.update', (update) => update.qr && resolve(update.qr));
    });
    const verdict = new Promise<BinaryNode>((resolve) => {
      attempt.socket.ws.on('frame', (frame: BinaryNode) => isVerdict(frame) && resolve(frame));
    });
    const askedAtMs = performance.now();
    const code = await attempt.socket.requestPairingCode(number);
    return { ...attempt, state, code, verdict, askedAtMs, notices, qr };
  }

  it('gives its verdict late, and the code cannot be typed before', async () => {
    const { code, verdict, askedAtMs, outcome } = await requestCode();
    expect(await enter(code)).to.deep.include({ status: 409 });
    expect((await verdict).attrs.type).to.equal('result');
    expect(performance.now() - askedAtMs).to.be.at.least(59);
    expect((await enter(code)).status).to.equal(200);
    expect(await outcome).to.deep.equal({ open: false, code: 515 });
  });

  it('refuses the name of a browser or a system that does not exist', async () => {
    const { code, verdict } = await requestCode({ browser: ['Acme', 'Chrome', '1.0'] });
    expect(errorOf(await verdict)).to.deep.equal({ code: '400', text: 'bad-request' });
    expect((await enter(code)).body).to.deep.equal({ error: 'no client waits for a code of this number' });
  });

  for (const [error, text] of [
    [429, 'rate-overlimit'],
    [452, 'feature-not-available'],
  ] as const) {
    it(`says ${error} when told to`, async () => {
      await network.admin('PUT', '/admin/faults', [{ on: 'pairing', do: { error }, count: 1 }]);
      const { verdict } = await requestCode();
      expect(errorOf(await verdict)).to.deep.equal({ code: String(error), text });
    });
  }

  it('ends a code after three wrong tries', async () => {
    const { verdict, code } = await requestCode();
    await verdict;
    const wrong = code === 'AAAAAAAA' ? 'BBBBBBBB' : 'AAAAAAAA';
    for (const _ of [1, 2, 3]) expect((await enter(wrong)).body).to.deep.equal({ error: 'wrong code' });
    expect((await enter(code)).body).to.deep.equal({ error: 'no client waits for a code of this number' });
  });

  it('disturbs no link that a typed code has started, and gives it a minute', async () => {
    const { network: net } = network.simulator;
    const { verdict, code, state, notices, qr } = await requestCode();
    await verdict;
    await network.admin('PUT', '/admin/faults', [{ on: 'pairing', do: { delayMs: 400 }, count: 1 }]);
    const secret = state.creds.advSecretKey;
    const typed = enter(code);
    await eventually(() => state.creds.advSecretKey !== secret);
    const scan = () => network.admin('POST', '/admin/mock-phone/scan-qr', qr);
    await eventually(async () => expect((await scan()).body).to.deep.equal({ error: 'a typed code is in progress' }));
    expect(notices.map(({ attrs }) => attrs.type)).not.to.include('companion_reg_refresh');
    const { now } = net;
    net.now = () => Date.now() + 60_000;
    expect((await typed).body).to.deep.equal({ error: 'code has expired' });
    net.now = now;
  });

  it('links nothing to an account that demands a passkey', async () => {
    await network.admin('PUT', `/admin/accounts/${number}`, { passkey: true });
    const { verdict, code, notices } = await requestCode();
    await verdict;
    expect((await enter(code)).body).to.deep.equal({ error: 'passkey required' });
    await eventually(() => expect(notices.at(-1)?.attrs.type).to.equal('passkey_prologue_request'));
    await network.admin('PUT', `/admin/accounts/${number}`, { passkey: false });
  });

  it('asks the client for another code when told to', async () => {
    const { verdict, notices } = await requestCode();
    const ref = hexOf(getBinaryNodeChild(await verdict, 'link_code_companion_reg')!, 'link_code_pairing_ref');
    const asked = await network.admin('POST', '/admin/mock-phone/refresh-code', { number, isForced: true });
    expect(asked.status).to.equal(200);
    await eventually(() => expect(notices).to.have.length(1));
    const [step] = notices[0]!.content as BinaryNode[];
    expect(step!.attrs).to.deep.equal({ stage: 'refresh_code', force_manual_refresh: 'true' });
    expect(hexOf(step!, 'link_code_pairing_ref')).to.equal(ref);
  });
});

describe('the codes of 2026', () => {
  it('take 300 ms to be judged, and live three minutes', async () => {
    const { network } = await startAndClose({ profile: '2026' });
    expect(network.settings).to.include({ codeVerdictMs: 300, codeLifeMs: 180_000, refreshAfterScan: true });
  });
});

describe('a code that is typed late', () => {
  const network = useSimulator({ profile: '2026', codeVerdictMs: 1, codeLifeMs: 500, qrCodes: 1, firstQrMs: 400 });

  it('is refused, and until then it outlives the last QR code', async () => {
    const number = '4915112345673';
    const attempt = network.connect(newState());
    await new Promise<void>((resolve) => attempt.socket.ev.on('connection.update', ({ qr }) => qr && resolve()));
    const startMs = performance.now();
    const code = await attempt.socket.requestPairingCode(number);
    await attempt.closed;
    expect(performance.now() - startMs).to.be.above(499);
    const { body } = await network.admin('POST', '/admin/mock-phone/enter-code', { number, code });
    expect(body).to.deep.equal({ error: 'no client waits for a code of this number' });
  });
});

async function startAndClose(options: SimulatorOptions): Promise<Simulator> {
  const simulator = await startSimulator(options);
  await simulator.close();
  return simulator;
}

function notificationsOf(socket: StockSocket): BinaryNode[] {
  const notices: BinaryNode[] = [];
  socket.ws.on('CB:notification', (notice: BinaryNode) => notices.push(notice));
  return notices;
}

function isVerdict(frame: BinaryNode): boolean {
  return frame.attrs.type === 'error' || getBinaryNodeChild(frame, 'link_code_companion_reg') !== undefined;
}

function errorOf(answer: BinaryNode): unknown {
  return getBinaryNodeChild(answer, 'error')?.attrs;
}

function hexOf(parent: BinaryNode, tag: string): string {
  return Buffer.from((getBinaryNodeChild(parent, tag)?.content ?? []) as Uint8Array).toString('hex');
}
