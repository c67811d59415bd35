import { isLinked } from '@gateway/messenger/linking/linked-account';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { KeysUnreadableError, NotLinkedError } from '@gateway/messenger/session/session-errors';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { MemoryKeyStore } from './support/memory-key-store.js';
import { makeNumbers, useSessions } from './support/session-fixture.js';

describe('linking a device', () => {
  const sessions = useSessions();

  it('links by QR, commits the keys before it says so, and ends with a restart', async () => {
    const keyStore = new MemoryKeyStore();
    const test = await sessions.open(keyStore, { link: { method: 'qr' } });
    const code = await test.next('code');
    expect(code.kind).to.equal('qr');
    expect(code.expiresAtMs - Date.now()).to.be.within(50_000, 60_000);
    expect(keyStore.commits, 'nothing is stored before the phone has agreed').to.have.length(0);
    await sessions.scan(test);
    const account = await test.next('linked');
    expect(isLinked(keyStore.creds)).to.equal(true);
    expect(account.jid).to.match(new RegExp(`^${account.phone}:\\d+@`));
    expect(await test.next('closed')).to.deep.equal({ kind: 'restart', code: 515 });
    // The network retires the secret of the first code when it is scanned.
    expect(test.reports.map(({ event }) => event)).to.deep.equal(['code', 'code', 'linked', 'closed']);
  });

  it('links by an eight-character code that outlives the QR codes behind it', async () => {
    const [number] = makeNumbers(1) as [string];
    const keyStore = new MemoryKeyStore();
    const test = await sessions.open(keyStore, { link: { method: 'pairing', phone: number } });
    const code = await test.next('code');
    expect(code.kind).to.equal('pairing');
    expect(code.value).to.match(/^[1-9A-HJ-NP-Z]{8}$/);
    expect(code.expiresAtMs - Date.now()).to.be.within(170_000, 180_000);
    await sessions.admin('POST', 'mock-phone/enter-code', { number, code: code.value });
    expect((await test.next('linked')).phone).to.equal(number);
    expect(await test.next('closed')).to.include({ kind: 'restart' });
    const resumed = await sessions.open(keyStore);
    expect((await resumed.next('open')).phone).to.equal(number);
  });

  it('logs in again and again with the same keys, and says who it is', async () => {
    const { keyStore, phone } = await sessions.link();
    for (let round = 0; round < 2; round++) {
      const test = await sessions.open(keyStore);
      expect((await test.next('open')).phone).to.equal(phone);
      await test.session.close();
      expect(await test.next('closed')).to.deep.equal({ kind: 'closedByUs' });
    }
  });

  it('learns the name of the account, at the latest soon after it is open', async () => {
    const [number] = makeNumbers(1) as [string];
    await sessions.admin('PUT', `accounts/${number}`, { pushName: 'Ann' });
    const { keyStore } = await sessions.link(number);
    const test = await sessions.open(keyStore);
    const names = () =>
      test.reports.map((report) =>
        report.event === 'open' ? report.value.name : report.event === 'renamed' && report.value,
      );
    await eventually(() => names().includes('Ann'));
    await test.session.close();
    const resumed = await sessions.open(keyStore);
    expect((await resumed.next('open')).name).to.equal('Ann');
  });

  it('logs in, although it was asked to link, when a device is linked already', async () => {
    const { keyStore, phone } = await sessions.link();
    const test = await sessions.open(keyStore, { link: { method: 'qr' } });
    expect((await test.next('open')).phone).to.equal(phone);
    expect(test.reports.map(({ event }) => event)).not.to.include('code');
  });

  it('reports that the network refuses a number, and stores nothing', async () => {
    const [phone] = makeNumbers(1) as [string];
    await sessions.admin('PUT', `phones/${phone}`, { exists: false });
    const keyStore = new MemoryKeyStore();
    const test = await sessions.open(keyStore, { link: { method: 'pairing', phone } });
    expect(await test.next('closed')).to.deep.equal({ kind: 'linkRefused', code: 404 });
    expect(keyStore.commits).to.have.length(0);
  });

  it('gives up on a network that does not answer', async () => {
    sessions.fault('connect', { silent: true });
    const test = await sessions.open(new MemoryKeyStore(), { link: { method: 'qr' }, openTimeoutMs: 200 });
    expect(await test.next('closed')).to.include({ kind: 'reconnect', backoff: 'network' });
  });

  it('ends without a trace when it is closed in the middle', async () => {
    const keyStore = new MemoryKeyStore();
    const test = await sessions.open(keyStore, { link: { method: 'qr' } });
    await test.next('code');
    await test.session.close();
    await test.session.close();
    expect(test.reports.map(({ event }) => event)).to.deep.equal(['code', 'closed']);
    expect(keyStore.commits).to.have.length(0);
  });

  it('does not say that it is linked when the keys could not be stored', async () => {
    const keyStore = new MemoryKeyStore();
    const test = await sessions.open(keyStore, { link: { method: 'qr' } });
    await test.next('code');
    keyStore.beforeCommit = () => {
      throw new Error('the store is away');
    };
    await sessions.scan(test).catch(() => {});
    expect(await test.next('closed')).to.include({ kind: 'reconnect', backoff: 'server' });
    expect(test.reports.map(({ event }) => event)).to.deep.equal(['code', 'code', 'closed']);
  });

  it('never makes fresh credentials over ones that it cannot read', async () => {
    const { keyStore } = await sessions.link();
    keyStore.beforeRead = () => {
      throw new Error('wrong key');
    };
    const before = keyStore.creds;
    const error = await sessions.open(keyStore, { link: { method: 'qr' } }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(KeysUnreadableError);
    expect(keyStore.creds).to.equal(before);
  });

  it('says that no device is linked', async () => {
    const error = await sessions.open(new MemoryKeyStore(), { caches: createSessionCaches() }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(NotLinkedError);
  });
});
