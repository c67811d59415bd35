import { isLinked } from '@gateway/messenger/linking/linked-account';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { MemoryKeyStore } from './support/memory-key-store.js';
import { makeNumbers, useSessions } from './support/session-fixture.js';

describe('linking a device on the network of 2026', () => {
  const sessions = useSessions({ profile: '2026' });
  const [number, passkeyNumber, codeNumber] = makeNumbers(3) as [string, string, string];
  const codesOf = (test: Awaited<ReturnType<typeof sessions.open>>) =>
    test.reports.flatMap((report) => (report.event === 'code' ? [report.value] : []));

  it('links by the code that it shows after the first scan', async () => {
    const keyStore = new MemoryKeyStore();
    const test = await sessions.open(keyStore, { link: { method: 'qr' } });
    await sessions.scan(test, number);
    expect((await test.next('linked')).phone).to.equal(number);
    expect(await test.next('closed')).to.deep.equal({ kind: 'restart', code: 515 });
    const [first, second, ...more] = codesOf(test);
    expect(more).to.have.length(0);
    expect(first).to.not.have.property('scanAgain');
    expect(second).to.include({ scanAgain: true });
    expect(isLinked(keyStore.creds)).to.equal(true);
    const resumed = await sessions.open(keyStore);
    expect((await resumed.next('open')).phone).to.equal(number);
  });

  it('says that an account asks for its passkey, and stores nothing', async () => {
    await sessions.admin('PUT', `accounts/${passkeyNumber}`, { passkey: true });
    const keyStore = new MemoryKeyStore();
    const test = await sessions.open(keyStore, { link: { method: 'qr' } });
    const { value } = await test.next('code');
    await sessions.admin('POST', `mock-phone/scan-qr?number=${passkeyNumber}`, value).catch(() => {});
    expect(await test.next('closed')).to.deep.equal({ kind: 'passkeyRequired' });
    expect(keyStore.commits).to.have.length(0);
  });

  it('links by a typed code, and by the one that replaces it', async () => {
    const test = await sessions.open(new MemoryKeyStore(), { link: { method: 'pairing', phone: codeNumber } });
    const { value: first } = await test.next('code');
    await sessions.admin('POST', 'mock-phone/refresh-code', { number: codeNumber });
    const second = await eventually(() => codesOf(test)[1]);
    expect(second.value).to.not.equal(first);
    await sessions.admin('POST', 'mock-phone/enter-code', { number: codeNumber, code: second.value });
    expect((await test.next('linked')).phone).to.equal(codeNumber);
  });

  it('lets a person mistype twice, and links by the right code then', async () => {
    const [phone] = makeNumbers(1) as [string];
    const test = await sessions.open(new MemoryKeyStore(), { link: { method: 'pairing', phone } });
    const { value: code } = await test.next('code');
    const enter = (typed: string) => sessions.admin('POST', 'mock-phone/enter-code', { number: phone, code: typed });
    for (const typed of ['AAAAAAAA', 'BBBBBBBB', 'CCCCCCCC'].filter((each) => each !== code).slice(0, 2)) {
      expect(await enter(typed).catch((error: Error) => error.message)).to.include('wrong code');
    }
    await enter(code);
    expect((await test.next('linked')).phone).to.equal(phone);
  });

  for (const [error, why] of [
    [400, 'unclear'],
    [429, 'later'],
    [452, 'never'],
  ] as const) {
    it(`shows no code that the network refuses with ${error}`, async () => {
      const [phone] = makeNumbers(1) as [string];
      sessions.fault('pairing', { error });
      const test = await sessions.open(new MemoryKeyStore(), { link: { method: 'pairing', phone } });
      expect(await test.next('closed')).to.deep.equal({ kind: 'codeRefused', code: error, why });
      expect(codesOf(test)).to.have.length(0);
    });
  }
});
