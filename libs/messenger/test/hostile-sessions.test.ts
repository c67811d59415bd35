import { type AuthState, openAuthState } from '@gateway/messenger/keys/auth-state';
import { decodeKey } from '@gateway/messenger/keys/key-codec';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { adaptLogger } from '@gateway/messenger/socket/log-adapter';
import { createLogger } from '@gateway/runtime/logs/logger';
import {
  type AuthenticationCreds,
  addTransactionCapability,
  DEFAULT_CONNECTION_CONFIG,
  initAuthCreds,
} from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { MemoryKeyStore } from './support/memory-key-store.js';
import { forgedMessage, type Sealed, SignalContact } from './support/signal-contact.js';

const JID = '17@lid';
const ADDRESS = '17_1.0';
const MOST_BYTES = 512 * 1024;
const MOST_MS = 250;
/** As many as the library takes at once. */
const SKIP = 1_999;
/** Of 107 kB each. */
const ROUNDS = 6;

/** As libsignal writes it. */
interface StoredRecord {
  _sessions: Record<
    string,
    {
      indexInfo: { closed: number };
      currentRatchet: { lastRemoteEphemeralKey: string; ephemeralKeyPair: { pubKey: string } };
      _chains: Record<string, object>;
    }
  >;
}

/** A contact who wants our keys to grow, or our process to stand still. */
describe('the session with a hostile contact', function () {
  // Of CPU of the whole process: garbage that other tests left may be collected in it.
  this.retries(2);
  let store: MemoryKeyStore;
  let contact: SignalContact;
  let auth: AuthState;
  let repository: ReturnType<typeof DEFAULT_CONNECTION_CONFIG.makeSignalRepository>;
  /** Of CPU, as other processes may be at work. */
  let slowestMs: number;

  beforeEach(async () => {
    store = new MemoryKeyStore();
    const account = { details: Buffer.from('d'), accountSignature: Buffer.from('s') };
    const creds: AuthenticationCreds = { ...initAuthCreds(), account, me: { id: '4917:3@s.whatsapp.net' } };
    auth = openAuthState(creds, {
      ...{ keyStore: store, caches: createSessionCaches() },
      onFailure: (error) => {
        throw error;
      },
    });
    const quiet = adaptLogger(createLogger({ service: 'test', level: 'error' }));
    const keys = addTransactionCapability(auth.keys, quiet, { maxCommitRetries: 1, delayBetweenTriesMs: 0 });
    repository = DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, quiet, async () => []);
    contact = new SignalContact(creds);
    slowestMs = 0;
    await contact.meet();
  });

  const bytes = () => store.keys.get(`session/${ADDRESS}`)?.length ?? 0;
  async function take(sealed: Sealed): Promise<string> {
    const from = process.cpuUsage();
    try {
      return (await repository.decryptMessage({ jid: JID, ...sealed })).toString();
    } finally {
      const { user, system } = process.cpuUsage(from);
      slowestMs = Math.max(slowestMs, (user + system) / 1_000);
    }
  }
  const answer = async (text: string): Promise<Sealed> => {
    const { type, ciphertext } = await repository.encryptMessage({ jid: JID, data: Buffer.from(text) });
    return { type, ciphertext: Buffer.from(ciphertext) };
  };

  /** Whether there is a session, with the chains that the next messages to and fro need. */
  function keepsChainsInUse(): boolean {
    const stored = store.keys.get(`session/${ADDRESS}`);
    if (!stored) return false;
    const { _sessions } = decodeKey('session', stored) as unknown as StoredRecord;
    const open = Object.values(_sessions).find(({ indexInfo }) => indexInfo.closed === -1)!;
    const { lastRemoteEphemeralKey, ephemeralKeyPair } = open.currentRatchet;
    expect(open._chains).to.include.all.keys(lastRemoteEphemeralKey, ephemeralKeyPair.pubKey);
    return true;
  }
  /** Of messages in the order in which they were written. */
  async function findReadable(late: readonly Sealed[]): Promise<boolean[]> {
    const found: boolean[] = [];
    for (const sealed of late) {
      found.push(
        await take(sealed).then(
          () => true,
          () => false,
        ),
      );
    }
    return found;
  }
  function expectOldestLost(readable: readonly boolean[]): void {
    const first = readable.indexOf(true);
    expect(readable).to.deep.equal(readable.map((_, index) => index >= first));
    expect(first, 'how many were lost').to.be.within(1, 3);
  }

  it('stays below 512 kB when each message leaves out 2,000 before it', async () => {
    let largest = 0;
    let forgotten = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      await take(await contact.write('x', { skip: SKIP })).catch(() => {});
      largest = Math.max(largest, bytes());
      if (!keepsChainsInUse()) forgotten += 1;
    }
    expect(forgotten, 'rather than kept without its chain').to.be.above(0);
    expect(largest).to.be.within(100_000, MOST_BYTES);
    expect(slowestMs).to.be.below(MOST_MS);
    await contact.meet();
    expect(await take(await contact.write('a fresh start'))).to.equal('a fresh start');
    expect(await contact.read(await answer('hello'))).to.equal('hello');
  });

  it('loses its oldest chains when each answer begins a new one', async () => {
    let largest = 0;
    const late: Sealed[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      late.push(await contact.write(`late ${round}`));
      expect(await take(await contact.write(`round ${round}`, { skip: SKIP - 1 }))).to.equal(`round ${round}`);
      expect(keepsChainsInUse()).to.equal(true);
      await contact.read(await answer('go on'));
      largest = Math.max(largest, bytes());
    }
    expectOldestLost(await findReadable(late));
    expect(largest).to.be.within(100_000, MOST_BYTES);
    expect(slowestMs).to.be.below(MOST_MS);
  });

  it('loses the oldest closed sessions when it is replaced repeatedly, and goes on', async () => {
    let largest = 0;
    const late: Sealed[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await contact.meet();
      await take(await contact.write('hello'));
      // From here on it writes what makes no session where there is none.
      await contact.read(await answer('go on'));
      late.push(await contact.write(`late ${round}`));
      expect(await take(await contact.write(`round ${round}`, { skip: SKIP - 1 }))).to.equal(`round ${round}`);
      expect(keepsChainsInUse()).to.equal(true);
      largest = Math.max(largest, bytes());
    }
    expectOldestLost(await findReadable(late));
    expect(largest).to.be.within(100_000, MOST_BYTES);
    expect(slowestMs).to.be.below(MOST_MS);
    expect(await contact.read(await answer('hello'))).to.equal('hello');
  });

  it('costs little when a message fits none of forty sessions, and each has to be tried', async () => {
    for (let round = 0; round < 40; round += 1) {
      await contact.meet();
      await take(await contact.write('x'));
    }
    const thrown = await take(forgedMessage({ skip: SKIP })).catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(Error);
    expect(slowestMs).to.be.below(MOST_MS);
    expect(await take(await contact.write('still here'))).to.equal('still here');
  });

  it('keeps nothing of attempts that failed when one fits', async () => {
    await take(await contact.write('x'));
    await contact.read(await answer('x'));
    const first = contact.session;
    for (let round = 0; round < 10; round += 1) {
      await contact.meet();
      await take(await contact.write('x'));
      await contact.read(await answer('x'));
    }
    const last = contact.session;
    contact.session = first;
    const before = bytes();
    expect(await take(await contact.write('late', { skip: 200 }))).to.equal('late');
    expect(bytes()).to.be.below(before + 15_000);
    contact.session = last;
    expect(await take(await contact.write('in between'))).to.equal('in between');
    expect(await contact.read(await answer('hello'))).to.equal('hello');
  });

  it('is nothing to other keys; those of a group that grow as large are forgotten', async () => {
    const large = Buffer.alloc(MOST_BYTES);
    await auth.keys.set({ 'sender-key': { '1@g.us::17_1::0': large, '1@g.us::18_1::0': Buffer.from('small') } });
    expect([...store.keys.keys()]).to.deep.equal(['sender-key/1@g.us::18_1::0']);
    expect(await auth.keys.get('sender-key', ['1@g.us::17_1::0'])).to.deep.equal({});
    await auth.keys.set({ 'app-state-sync-version': { regular: { version: 1, hash: large, indexValueMap: {} } } });
    expect(store.keys.has('app-state-sync-version/regular')).to.equal(true);
  });
});
