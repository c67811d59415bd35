import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import { newState } from './support/stock-client.js';

describe('linking a client', () => {
  const network = useSimulator();

  /** Asks for a code under a number and gives the code. */
  async function requestCode(number: string, state = newState()) {
    const attempt = network.connect(state);
    await new Promise<void>((resolve) => attempt.socket.ev.on('connection.update', ({ qr }) => qr && resolve()));
    return { ...attempt, state, code: await attempt.socket.requestPairingCode(number) };
  }

  it('links by QR to the number that scans, and opens after the restart', async () => {
    const client = await network.link({}, '4915112345678');
    expect(client.number).to.equal('4915112345678');
    expect(client.state.creds.me?.lid).to.match(/^\d+:1@lid$/);
    expect(client.state.creds.account).to.have.property('deviceSignature');
  });

  it('takes an unused number by default', async () => {
    const [one, two] = [await network.link(), await network.link()];
    expect(one.number).not.to.equal(two.number);
  });

  it('makes clients of one name devices of one account', async () => {
    const [one, two] = [await network.link({ pushName: 'Ada' }), await network.link({ pushName: 'Ada' })];
    expect(one.number).to.equal(two.number);
    expect(one.state.creds.me?.id).not.to.equal(two.state.creds.me?.id);
  });

  it('links clients of one account side by side', async () => {
    const clients = await Promise.all([1, 2, 3].map(() => network.link({ pushName: 'Trio' })));
    const jids = clients.map(({ state }) => state.creds.me?.id.split(':')[1]);
    expect(jids).to.have.members(['1@s.whatsapp.net', '2@s.whatsapp.net', '3@s.whatsapp.net']);
  });

  it('links by a code that the owner of the number types', async () => {
    const { code, outcome, state } = await requestCode('4915100000001');
    const typed = await network.admin('POST', '/admin/mock-phone/enter-code', { number: '4915100000001', code });
    expect(typed).to.deep.include({ status: 200 });
    expect(await outcome).to.deep.equal({ open: false, code: 515 });
    const client = await network.logIn(state);
    expect(client.number).to.equal('4915100000001');
  });

  it('refuses a wrong code and accepts the right one afterwards', async () => {
    const { code, outcome } = await requestCode('4915100000002');
    const wrong = code === 'AAAAAAAA' ? 'BBBBBBBB' : 'AAAAAAAA';
    const enter = (typed: string) =>
      network.admin('POST', '/admin/mock-phone/enter-code', { number: '4915100000002', code: typed });
    expect(await enter(wrong)).to.deep.equal({ status: 409, body: { error: 'wrong code' } });
    expect((await enter(code)).status).to.equal(200);
    expect(await outcome).to.deep.equal({ open: false, code: 515 });
  });

  it('refuses a code that no client waits for', async () => {
    const { status } = await network.admin('POST', '/admin/mock-phone/enter-code', {
      number: '4915100000003',
      code: 'AAAAAAAA',
    });
    expect(status).to.equal(409);
  });

  it('refuses a QR text that it did not give out', async () => {
    const text = 'https://wa.me/settings/linked_devices#2@abc,a,b,c,1';
    const { status, body } = await network.admin('POST', '/admin/mock-phone/scan-qr', text);
    expect({ status, body }).to.deep.equal({ status: 409, body: { error: 'code is not known or used up' } });
  });

  it('links no client while a fault makes phones refuse', async () => {
    await network.admin('PUT', '/admin/faults', [{ on: 'pairing', do: { refuse: true }, count: 1 }]);
    const state = newState();
    const attempt = network.connect(state);
    const qr = await new Promise<string>((resolve) =>
      attempt.socket.ev.on('connection.update', (update) => update.qr && resolve(update.qr)),
    );
    expect((await network.admin('POST', '/admin/mock-phone/scan-qr', qr)).status).to.equal(409);
    expect((await network.admin('POST', '/admin/mock-phone/scan-qr', qr)).status).to.equal(200);
  });

  it('keeps the pre-keys that a new client uploads', async () => {
    const { number } = await network.link();
    await eventually(() =>
      expect(network.simulator.network.accounts.findDevice(number, 1)?.preKeys.count).to.be.above(100),
    );
  });
});

describe('an unanswered linking attempt', () => {
  const network = useSimulator({ qrCodes: 1, firstQrMs: 300 });

  it('ends when its codes are used up', async () => {
    const { outcome } = network.connect(newState());
    const result = await outcome;
    expect(result).to.deep.include({ open: false });
  });
});
