import { expect } from 'chai';
import { MemoryKeyStore } from './support/memory-key-store.js';
import { useSessions } from './support/session-fixture.js';

describe('which servers a session talks to', () => {
  const plain = useSessions();
  const tls = useSessions({ tls: true, seed: 'another network' });
  const link = { link: { method: 'qr' } } as const;

  it('refuses a server whose certificates lead to another root', async () => {
    const url = plain.simulator.socketUrl;
    for (const trust of [{ kind: 'production' }, { kind: 'root', publicKey: Buffer.alloc(32, 9) }] as const) {
      const test = await plain.open(new MemoryKeyStore(), { ...link, endpoint: { url, trust } });
      expect(await test.next('closed')).to.deep.equal({ kind: 'untrusted' });
    }
  });

  it('refuses a server that shows a chain which is not its own', async () => {
    const { credentials } = plain.simulator.network;
    const original = { ...credentials };
    const stolen = tls.simulator.network.credentials;
    Object.assign(credentials, { chain: stolen.chain });
    const trust = { kind: 'root', publicKey: Buffer.from(tls.simulator.rootPublicKeyHex, 'hex') } as const;
    const test = await plain.open(new MemoryKeyStore(), {
      ...link,
      endpoint: { url: plain.simulator.socketUrl, trust },
    });
    expect(await test.next('closed')).to.deep.equal({ kind: 'untrusted' });
    Object.assign(credentials, original);
  });

  it('takes any server when told to', async () => {
    const endpoint = { url: plain.simulator.socketUrl, trust: { kind: 'insecure' } } as const;
    const test = await plain.open(new MemoryKeyStore(), { ...link, endpoint });
    expect((await test.next('code')).kind).to.equal('qr');
  });

  it('keeps apart sessions that trust different servers at the same time', async () => {
    const all = [plain, tls, plain, tls];
    const tests = await Promise.all(all.map((sessions) => sessions.open(new MemoryKeyStore(), link)));
    for (const test of tests) expect((await test.next('code')).kind).to.equal('qr');
  });

  it('goes by the chain, not by TLS, when the server is a stand-in', async () => {
    expect(tls.simulator.socketUrl).to.match(/^wss:/);
    const test = await tls.open(new MemoryKeyStore(), link);
    await test.next('code');
  });
});
