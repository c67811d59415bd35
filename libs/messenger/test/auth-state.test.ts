import { openAuthState, readLinkedCreds } from '@gateway/messenger/keys/auth-state';
import { createSessionCaches, forgetCached, type SessionCaches } from '@gateway/messenger/lookup/session-caches';
import { KeysUnreadableError } from '@gateway/messenger/session/session-errors';
import { FencedError } from '@gateway/runtime/errors';
import { type AuthenticationCreds, BufferJSON, initAuthCreds, proto } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { MemoryKeyStore } from './support/memory-key-store.js';

function linkedCreds(): AuthenticationCreds {
  const account = { details: Buffer.from('d'), accountSignature: Buffer.from('s') };
  return { ...initAuthCreds(), account, me: { id: '49170000001:3@s.whatsapp.net' } };
}

describe('the auth state', () => {
  let store: MemoryKeyStore;
  let caches: SessionCaches;
  let failures: Error[];
  const open = (creds?: AuthenticationCreds) =>
    openAuthState(creds, { keyStore: store, caches, onFailure: (error) => failures.push(error) });

  beforeEach(() => {
    store = new MemoryKeyStore();
    caches = createSessionCaches();
    failures = [];
  });

  it('keeps credentials as they were, bytes included', async () => {
    const auth = open(linkedCreds());
    await auth.saveCreds();
    const restored = await readLinkedCreds(store);
    expect(restored?.noiseKey.private).to.deep.equal(auth.creds.noiseKey.private);
    expect(restored?.account?.details).to.deep.equal(Buffer.from('d'));
  });

  it('stores nothing of an attempt before the phone has agreed', async () => {
    const auth = open();
    auth.creds.me = { id: '49170000001@s.whatsapp.net', name: '~' };
    await auth.saveCreds();
    expect(store.commits).to.have.length(0);
  });

  it('takes credentials without an account for none', async () => {
    store.creds = JSON.stringify({ ...initAuthCreds(), me: { id: 'x' }, registered: true }, BufferJSON.replacer);
    expect(await readLinkedCreds(store)).to.equal(undefined);
  });

  it('never takes unreadable credentials for absent ones', async () => {
    const readingThrows = async () => {
      const error = await readLinkedCreds(store).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).to.be.instanceOf(KeysUnreadableError);
    };
    store.creds = '{"account":{"half';
    await readingThrows();
    store.beforeRead = () => {
      throw new Error('cannot be decrypted');
    };
    await readingThrows();
  });

  it('gives every type of key back as it was', async () => {
    const keys = {
      'pre-key': { '7': { public: Buffer.alloc(32, 1), private: Buffer.alloc(32, 2) } },
      session: { '1_1.0': { _sessions: { a: { registrationId: 4 } }, version: 'v1' } as never },
      'lid-mapping': { '4917': '123', '123_reverse': '4917' },
      'device-list': { '4917': ['0', '2'] },
      'identity-key': { '1_1.0': Buffer.alloc(33, 5) },
      tctoken: { '1@lid': { token: Buffer.from('t'), timestamp: '5', senderTimestamp: 6 } },
    };
    await open(linkedCreds()).keys.set(keys);
    caches.keys.clear();
    const { keys: reopened } = open(linkedCreds());
    for (const [type, values] of Object.entries(keys)) {
      expect(await reopened.get(type as never, Object.keys(values))).to.deep.equal(values);
    }
    await open(linkedCreds()).keys.set({ 'app-state-sync-key': { k: { keyData: Buffer.from('d') } } });
    caches.keys.clear();
    const { k } = await reopened.get('app-state-sync-key', ['k']);
    expect(k).to.be.instanceOf(proto.Message.AppStateSyncKeyData);
  });

  it('asks the store once for a key, also for one that it does not have', async () => {
    const { keys } = open(linkedCreds());
    for (let i = 0; i < 3; i++) await keys.get('session', ['absent']);
    expect(store.reads).to.have.length(1);
    await keys.set({ session: { absent: Buffer.from('s') } });
    expect(await keys.get('session', ['absent'])).to.have.property('absent');
    await keys.set({ session: { absent: null } });
    expect(await keys.get('session', ['absent'])).to.deep.equal({});
    expect(store.reads).to.have.length(1);
  });

  it('remembers keys over a reconnect, in bounded memory', async () => {
    caches = createSessionCaches({ maxKeyBytes: 10_000 });
    const first = open(linkedCreds());
    for (let i = 0; i < 100; i++) await first.keys.set({ session: { [i]: Buffer.alloc(500) } });
    expect(caches.keys.calculatedSize).to.be.at.most(10_000);
    await open(linkedCreds()).keys.get('session', ['99']);
    expect(store.reads).to.have.length(0);
  });

  it('reports a key that cannot be read, whatever the library makes of the error', async () => {
    const { keys } = open(linkedCreds());
    store.keys.set('session/broken', Buffer.from('not json'));
    const [result] = await Promise.allSettled([Promise.resolve(keys.get('session', ['broken']))]);
    expect(result?.status).to.equal('rejected');
    expect(failures).to.have.length(1);
    expect(failures[0]).to.be.instanceOf(KeysUnreadableError);
  });

  it('forgets what it cached when the store refuses it', async () => {
    const auth = open(linkedCreds());
    store.beforeCommit = () => {
      throw new FencedError();
    };
    await Promise.resolve(auth.keys.set({ session: { a: Buffer.from('new') } })).catch(() => {});
    expect(failures[0]).to.be.instanceOf(FencedError);
    expect(caches.keys.size).to.equal(0);
  });

  it('does not write down again who was forgotten, until there is news of them', async () => {
    const index = (...jids: string[]) => ({ token: Buffer.from(JSON.stringify(jids)) });
    const { keys } = open(linkedCreds());
    await keys.set({ tctoken: { '1@lid': { token: Buffer.from('t') }, '2@lid': { token: Buffer.from('t') } } });
    forgetCached(caches, new Set(['1', '4917']));
    expect(caches.keys.has('tctoken/1@lid')).to.equal(false);
    expect(caches.keys.has('tctoken/2@lid')).to.equal(true);
    const contacts = () => store.commits.at(-1)?.contacts;
    await keys.set({ tctoken: { __index: index('1@lid', '2@lid') } });
    expect(contacts()).to.deep.equal(['2@lid']);
    await keys.set({ tctoken: { '1@lid': { token: Buffer.from('new') }, __index: index('1@lid', '2@lid') } });
    expect(contacts()).to.deep.equal(['1@lid', '2@lid']);
  });

  it('keeps the index of contacts as a set: what is new goes in, nothing of the rest is read or rewritten', async () => {
    const { keys } = open(linkedCreds());
    const index = (jids: string[]) => ({ tctoken: { __index: { token: Buffer.from(JSON.stringify(jids)) } } });
    expect(await keys.get('tctoken', ['__index'])).to.deep.equal({});
    await keys.set(index(['1@lid']));
    await keys.set(index(['2@lid', '3@lid']));
    expect(await store.readContactIndex()).to.deep.equal(['1@lid', '2@lid', '3@lid']);
    expect(store.reads).to.have.length(0);
    expect(store.keys.size).to.equal(0);
  });
});
