import { openAuthState } from '@gateway/messenger/keys/auth-state';
import { findSession } from '@gateway/messenger/keys/find-session';
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
import { SignalContact } from './support/signal-contact.js';

describe('the session with a device', () => {
  const quiet = adaptLogger(createLogger({ service: 'test', level: 'error' }));
  const account = { details: Buffer.from('d'), accountSignature: Buffer.from('s') };
  const creds: AuthenticationCreds = { ...initAuthCreds(), account, me: { id: '4917:3@s.whatsapp.net' } };

  /** With a session of each of these jids. */
  async function open(...jids: string[]) {
    const keyStore = new MemoryKeyStore();
    const onFailure = (error: Error) => expect.fail(error.message);
    const auth = openAuthState(creds, { keyStore, caches: createSessionCaches(), onFailure });
    const keys = addTransactionCapability(auth.keys, quiet, { maxCommitRetries: 1, delayBetweenTriesMs: 0 });
    const repository = DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, quiet, async () => []);
    for (const jid of jids) {
      const contact = new SignalContact(creds);
      await contact.meet();
      await repository.decryptMessage({ jid, ...(await contact.write('hello')) });
    }
    /** The answer, which is the library's, too. */
    const isFound = async (jid: string) => {
      const { exists } = await findSession(repository, keys, jid);
      expect((await repository.validateSession(jid)).exists, jid).to.equal(exists);
      return exists;
    };
    return { keys, repository, isFound };
  }

  it('is found by either name of a person, each device for itself', async () => {
    const { repository, isFound } = await open('17@lid', '18:2@s.whatsapp.net');
    await repository.lidMapping.storeLIDPNMappings([{ lid: '17@lid', pn: '4917@s.whatsapp.net' }]);
    for (const jid of ['17@lid', '4917@s.whatsapp.net', '18:2@s.whatsapp.net'])
      expect(await isFound(jid)).to.equal(true);
    for (const jid of ['17:1@lid', '4917:1@s.whatsapp.net', '18@s.whatsapp.net', '18:2@lid', '19@lid']) {
      expect(await isFound(jid), jid).to.equal(false);
    }
  });

  it('is not found when it was closed', async () => {
    const { keys, isFound } = await open('17@lid');
    const { '17_1.0': stored } = await keys.get('session', ['17_1.0']);
    const record = structuredClone(stored) as unknown as {
      _sessions: Record<string, { indexInfo: { closed: number } }>;
    };
    for (const { indexInfo } of Object.values(record._sessions)) indexInfo.closed = 1;
    await keys.set({ session: { '17_1.0': record as never } });
    expect(await isFound('17@lid')).to.equal(false);
  });
});
