import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import makeWASocket, { useMultiFileAuthState, WA_CERT_DETAILS } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import pino from 'pino';
import { linkDevice } from '../../api/test/support/device-owner.js';
import { muteSignalLibrary } from '../../simulator/test/support/mute-signal-library.js';
import { renewSecret } from '../../simulator/test/support/stock-client.js';
import { runCli } from './support/run-cli.js';

const ADDRESS = { workspace: 'main', device: 'default' };
const ACCOUNT = '491700000031';

type Stock = ReturnType<typeof makeWASocket>;

describe('device import and export', () => {
  muteSignalLibrary();
  let space: RedisSpace;
  let simulator: Simulator;
  let folder: string;

  before(async () => {
    simulator = await startSimulator();
    // The stock client beside it shows no tokens.
    simulator.network.accounts.ensure(ACCOUNT).tokensRequired = false;
  });
  after(() => simulator.close());
  beforeEach(async () => {
    space = await openRedisSpace();
    folder = await mkdtemp(join(tmpdir(), 'gateway-transfer-'));
  });
  afterEach(async () => {
    await space.close();
    await rm(folder, { recursive: true });
  });

  const cli = (...args: string[]) => runCli(space, args);

  /** A stock client on a folder, as the library's own documents show it: links when it has to, also where codes are scanned twice. */
  async function openStock(path: string, number: string): Promise<{ socket: Stock; end(): Promise<void> }> {
    WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(simulator.rootPublicKeyHex, 'hex');
    const { state, saveCreds } = await useMultiFileAuthState(path);
    for (;;) {
      const socket = makeWASocket({
        auth: state,
        waWebSocketUrl: simulator.socketUrl,
        logger: pino({ level: 'silent' }),
      });
      socket.ev.on('creds.update', saveCreds);
      renewSecret({ socket }, state, (qr) => {
        void fetch(`${simulator.adminUrl}/admin/mock-phone/scan-qr?number=${number}`, { method: 'POST', body: qr });
      });
      const opened = await new Promise<boolean>((resolve) => {
        socket.ev.on('connection.update', ({ connection }) => {
          if (connection === 'open') resolve(true);
          if (connection === 'close') resolve(false);
        });
      });
      if (!opened) continue;
      return {
        socket,
        end: async () => {
          const closed = new Promise((resolve) => socket.ev.on('connection.update', (u) => u.connection && resolve(u)));
          await saveCreds();
          await socket.end(undefined);
          await closed;
        },
      };
    }
  }
  const textsTo = async (number: string) =>
    (await readDeliveries(simulator, ACCOUNT)).filter(({ to, shown }) => to === number && shown > 0).map((m) => m.text);
  const lidOf = (number: string) => simulator.network.directory.jidOf(number, 'lid');
  const devicesOf = (number: string) => simulator.network.accounts.ensure(number).devices.size;

  it('take a session over from another program and give it back, without linking again', async () => {
    const [friend] = makeNumbers(1, 60) as [string];
    const starting = Gateway.start({ space, simulator });
    const stock = await openStock(folder, ACCOUNT);
    await stock.socket.sendMessage(lidOf(friend), { text: 'from a stock client' });
    await eventually(async () => (await textsTo(friend)).length === 1);
    await stock.end();
    const devices = devicesOf(ACCOUNT);

    const gateway = await starting;
    const exported = join(folder, 'exported');
    try {
      const imported = await cli('device', 'import', folder);
      expect(imported.code, imported.stderr).to.equal(0);
      expect(imported.stdout).to.match(new RegExp(`phone +${ACCOUNT}\n`));
      expect(await gateway.waitForStatus('connected')).to.include({ phone: ACCOUNT });
      const { status } = await gateway.call('POST', '/send', { body: { to: friend, text: 'from the gateway' } });
      expect(status).to.equal(202);
      await eventually(async () => (await textsTo(friend)).length === 2);

      const refused = await cli('device', 'import', folder);
      expect(refused.code).to.equal(1);
      expect(refused.stderr).to.include('device default is linked');
      const inUse = await cli('device', 'export', exported);
      expect(inUse.code).to.equal(1);
      expect(inUse.stderr).to.include('device default is in use');
      await gateway.senders[0]!.stop();
      const done = await cli('device', 'export', exported);
      expect(done.code, done.stderr).to.equal(0);
    } finally {
      await gateway.close();
    }

    const again = await openStock(exported, ACCOUNT);
    await again.socket.sendMessage(lidOf(friend), { text: 'and back' });
    await eventually(async () => (await textsTo(friend)).length === 3);
    await again.end();
    expect(await textsTo(friend)).to.deep.equal(['from a stock client', 'from the gateway', 'and back']);
    expect(devicesOf(ACCOUNT), 'nothing was linked anew').to.equal(devices);
  });

  it('replace a linked account when forced, which is logged out first', async () => {
    const other = '491700000032';
    const starting = Gateway.start({ space, simulator });
    const stock = await openStock(folder, ACCOUNT);
    await stock.end();
    const gateway = await starting;
    try {
      await gateway.link(other);
      const before = devicesOf(other);
      const forced = await cli('device', 'import', folder, '--force');
      expect(forced.code, forced.stderr).to.equal(0);
      expect(devicesOf(other)).to.equal(before - 1);
      // The logged-out account has ended before: what is connected now is the imported one.
      expect((await gateway.waitForStatus('connected')).phone).to.equal(ACCOUNT);
    } finally {
      await gateway.close();
    }
  });

  it('keep every key under its own id, whatever file names make of it', async () => {
    const stock = await openStock(folder, ACCOUNT);
    await stock.end();
    const keys = {
      'app-state-sync-key': { 'AAAA/+b/==': { keyData: Buffer.from('k'), timestamp: 1 } },
      'sender-key': { '4915-16@g.us::4915112345_1::3': Buffer.from('sender key') },
      'sender-key-memory': { '4915-16@g.us': { '1:2@lid': true } },
      'lid-mapping': { '1234_reverse': '4915', '4915': '1234' },
      'device-list': { '4915': ['0', '3'] },
      'app-state-sync-version': { critical_block: { version: 1, hash: Buffer.from('h'), indexValueMap: {} } },
      'identity-key': { '4915:3@s.whatsapp.net': Buffer.from('identity'), '4915_1.3': Buffer.from('other') },
      tctoken: {
        '1234@lid': { token: Buffer.from('t'), timestamp: '1' },
        __index: { token: Buffer.from('["1234@lid"]') },
      },
    };
    const source = await useMultiFileAuthState(folder);
    await source.state.keys.set(keys as never);
    await writeFile(join(folder, 'notes.txt'), 'not of a session');

    const imported = await cli('device', 'import', folder, '--device', 'shop');
    expect(imported.code, imported.stderr).to.equal(0);
    expect(imported.stdout).to.include('1 files do not belong to a session');
    const shop = { workspace: 'main', device: 'shop' };
    const ownership = (await takeDevice(space.store, shop, { owner: 'test', ttlMs: 10_000 }))!;
    const store = deviceKeyStore(space.store, ownership);
    for (const [type, values] of Object.entries(keys)) {
      const ids = Object.keys(values).filter((id) => id !== '__index');
      expect([...(await store.read(type, ids)).keys()], type).to.have.members(ids);
    }
    expect(await store.readContactIndex()).to.deep.equal(['1234@lid']);
    await giveDeviceBack(space.store, ownership);

    const target = join(folder, 'again');
    const exported = await cli('device', 'export', target, '--device', 'shop');
    expect(exported.code, exported.stderr).to.equal(0);
    const files = (await readdir(folder)).filter((name) => name.endsWith('.json'));
    expect((await readdir(target)).sort()).to.deep.equal(files.sort());
    for (const name of files) {
      const [before, after] = await Promise.all([folder, target].map((path) => readFile(join(path, name), 'utf8')));
      expect(JSON.parse(after!), name).to.deep.equal(JSON.parse(before!));
    }
    expect((await stat(join(target, 'creds.json'))).mode & 0o077, 'for the owner only').to.equal(0);
    const twice = await cli('device', 'export', target, '--device', 'shop');
    expect(twice.stderr).to.include('is not empty');
  });

  it('refuse what is no linked session, having changed nothing', async () => {
    const cases: [string, () => Promise<unknown>][] = [
      ['holds no creds.json', async () => {}],
      ['it is not JSON', () => writeFile(join(folder, 'creds.json'), '{')],
      ['is not of a linked account', () => writeFile(join(folder, 'creds.json'), '{"me":{"id":"49:1@s"}}')],
    ];
    for (const [message, prepare] of cases) {
      await prepare();
      const { code, stderr } = await cli('device', 'import', folder);
      expect(code).to.equal(1);
      expect(stderr).to.include(message);
    }
    expect((await cli('device', 'import', '/nowhere')).stderr).to.include('there is no folder /nowhere');
    expect((await cli('device', 'export', folder, '--device', 'shop')).stderr).to.include('is not linked');
    expect((await readDeviceState(space.store, ADDRESS)).hasKeys).to.equal(false);
    await linkDevice(space.store);
  });
});
