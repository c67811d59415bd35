import { createCipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { readAddressing } from '@gateway/messenger/addressing/addressing-state';
import { HistoryKeeper } from '@gateway/messenger/history/history-keeper';
import type { HistoryCreds } from '@gateway/messenger/history/own-creds';
import type { AuthState } from '@gateway/messenger/keys/auth-state';
import { openAuthState } from '@gateway/messenger/keys/auth-state';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { type BaileysSocket, getMediaKeys, normalizeMessageContent, proto } from '@gateway/messenger/socket/baileys';
import { socketSettings, standInAgent } from '@gateway/messenger/socket/socket-settings';
import { createLogger } from '@gateway/runtime/logs/logger';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { MemoryKeyStore } from './support/memory-key-store.js';
import { makeNumbers, useSessions } from './support/session-fixture.js';

const SECRET_WORDS = 'words between two people';

describe('the history of a newly linked device', () => {
  const sessions = useSessions({ profile: '2026' });
  const lidOf = (number: string) => sessions.simulator.network.directory.jidOf(number, 'lid');

  it('leaves salt, tokens, hidden identifiers and the time of migration, and no word of what people wrote', async () => {
    const [account, friend] = makeNumbers(2) as [string, string];
    await sessions.link(account);
    await sessions.admin('POST', `phones/${friend}/messages`, { to: account, text: SECRET_WORDS });
    const { keyStore } = await sessions.link(account);
    const test = await sessions.open(keyStore);
    await test.next('open');
    const creds = await eventually(() => {
      const stored = JSON.parse(keyStore.creds ?? '{}') as HistoryCreds;
      return stored.hasHistory && stored;
    });
    expect(creds.nctSalt).to.equal(sessions.simulator.saltOf(account).toString('base64'));
    expect(creds.lidMigrationTimestamp).to.be.a('number');
    const lid = lidOf(friend);
    expect(keyStore.keys.get(`lid-mapping/${friend}`)?.toString()).to.equal(JSON.stringify(lid.split('@')[0]));
    expect([...keyStore.keys.keys()].filter((key) => key.startsWith('tctoken/'))).to.deep.equal([`tctoken/${lid}`]);
    expect([...keyStore.contacts]).to.deep.equal([lid]);
    const known = await test.session.findAcquainted([friend]);
    expect([...known], 'an old conversation is one').to.deep.equal([friend]);
    expect(JSON.stringify(keyStore.commits.map(readable))).not.to.contain(SECRET_WORDS);
  });

  describe('seen by itself', () => {
    const [me, friend] = ['4917000000001', '4917000000002'];
    const salt = randomBytes(32);

    /** A keeper, and the message of a phone as the library would get it. */
    async function keep({
      creds = {},
      from = `${me}@s.whatsapp.net`,
      wrap = (content) => content,
      inGroup = false,
    }: {
      creds?: Partial<HistoryCreds>;
      from?: string;
      wrap?: (content: proto.IMessage) => proto.IMessage;
      inGroup?: boolean;
    } = {}) {
      const keyStore = new MemoryKeyStore();
      const caches = createSessionCaches();
      const failed = (error: Error) => expect.fail(error.message);
      const auth: AuthState = openAuthState(undefined, { keyStore, caches, onFailure: failed });
      Object.assign(auth.creds, {
        me: { id: `${me}:5@s.whatsapp.net`, lid: '900000000001:5@lid' },
        account: {},
        ...creds,
      });
      let plain: Uint8Array = Buffer.alloc(0);
      const { mediaHost } = sessions.simulator.network.settings;
      const sock = {
        signalRepository: { decryptMessage: async () => plain, decryptGroupMessage: async () => plain },
        refreshMediaConn: async () => ({ hosts: [{ hostname: mediaHost }] }),
      } as unknown as BaileysSocket;
      const end = new AbortController();
      const trust = { kind: 'insecure' } as const;
      const agent = standInAgent({ url: sessions.simulator.socketUrl, trust });
      const logger = createLogger({ service: 'test', level: 'error' });
      const keeper = new HistoryKeeper({ sock, auth, caches, logger, agent, signal: end.signal, onEvent: () => {} });
      const tell = async (notice: proto.Message.IHistorySyncNotification) => {
        const protocolMessage = { type: proto.Message.ProtocolMessage.Type.HISTORY_SYNC_NOTIFICATION };
        const content = { protocolMessage: { ...protocolMessage, historySyncNotification: notice } };
        plain = Buffer.concat([proto.Message.encode(wrap(content)).finish(), Buffer.from([3, 3, 3])]);
        const sealed = { jid: from, type: 'msg' as const, ciphertext: Buffer.alloc(1) };
        const { signalRepository } = sock;
        const left = inGroup
          ? await signalRepository.decryptGroupMessage({ group: '1@g.us', authorJid: from, msg: Buffer.alloc(1) })
          : await signalRepository.decryptMessage(sealed);
        return noticeIn(proto.Message.decode(Buffer.from(left).subarray(0, -left.at(-1)!)));
      };
      return { keeper, keyStore, auth, creds: auth.creds as HistoryCreds, tell, end };
    }

    function historyOf(more: proto.IHistorySync = {}): Buffer {
      const history = { syncType: proto.HistorySync.HistorySyncType.INITIAL_BOOTSTRAP, ...more };
      const bytes = proto.HistorySync.encode(proto.HistorySync.create(history)).finish();
      return deflateSync(Buffer.concat([bytes, Buffer.from([0x9a, 0x01, salt.length]), salt]));
    }
    const syncType = 0;

    async function upload(file: Buffer) {
      const mediaKey = randomBytes(32);
      const { iv, cipherKey, macKey } = await getMediaKeys(mediaKey, 'md-msg-hist');
      const cipher = createCipheriv('aes-256-cbc', cipherKey, iv);
      const body = Buffer.concat([cipher.update(file), cipher.final()]);
      const mac = createHmac('sha256', macKey!).update(iv).update(body).digest().subarray(0, 10);
      const sealed = Buffer.concat([body, mac]);
      const hash = createHash('sha256').update(sealed).digest();
      const directPath = sessions.simulator.network.media.keep(sealed, hash.toString('base64url'))!;
      return { syncType, mediaKey, directPath, fileEncSha256: hash };
    }

    it('is taken out of the message before the library has it', async () => {
      const { tell, creds, keeper } = await keep();
      const left = await tell({ syncType, initialHistBootstrapInlinePayload: historyOf() });
      expect(left?.syncType).to.equal(syncType);
      expect(left?.initialHistBootstrapInlinePayload ?? undefined).to.equal(undefined);
      expect(creds.nctSalt).to.equal(salt.toString('base64'));
      await keeper.first;
    });

    it('is not read at all where it holds nothing but conversations, and the library does not get it either', async () => {
      const { tell, creds } = await keep();
      for (const type of [proto.HistorySync.HistorySyncType.RECENT, proto.HistorySync.HistorySyncType.FULL]) {
        const left = await tell({ syncType: type as number, initialHistBootstrapInlinePayload: historyOf() });
        expect(left?.syncType).to.equal(type);
        expect(left?.initialHistBootstrapInlinePayload ?? undefined).to.equal(undefined);
      }
      expect(creds.nctSalt).to.equal(undefined);
    });

    it('never reaches the library: not wrapped, not as a file, not of any kind, nor from another device', async () => {
      const wraps: ((message: proto.IMessage) => proto.IMessage)[] = [
        (message) => message,
        (message) => ({ deviceSentMessage: { destinationJid: `${friend}@s.whatsapp.net`, message } }),
        (message) => ({ ephemeralMessage: { message } }),
        (message) => ({
          deviceSentMessage: { message: { viewOnceMessage: { message: { editedMessage: { message } } } } },
        }),
      ];
      const file = { directPath: '.evil.example/x', mediaKey: Buffer.alloc(32), fileEncSha256: Buffer.alloc(32) };
      const inline = { initialHistBootstrapInlinePayload: historyOf() };
      const devices = [`${me}@s.whatsapp.net`, `${me}:7@s.whatsapp.net`, '900000000001:7@lid', `${me}:99@hosted`];
      const kinds = [0, 1, 2, 3, 4, 5, 6];
      for (const [from, inGroup] of [...devices.map((each) => [each, false] as const), [devices[0]!, true] as const]) {
        for (const wrap of wraps) {
          const { tell, end } = await keep({ from, wrap, inGroup });
          for (const kind of kinds) {
            for (const content of [file, inline]) {
              const left = await tell({ syncType: kind as number, progress: 100, ...content });
              expect(proto.Message.HistorySyncNotification.toObject(left as never)).to.deep.equal({
                syncType: kind,
                progress: 100,
              });
            }
          }
          end.abort();
        }
      }
    });

    it('is never asked of the library', () => {
      const auth = { creds: {}, keys: {} } as never;
      const logger = createLogger({ service: 'test', level: 'error' });
      const endpoint = { url: sessions.simulator.socketUrl, trust: { kind: 'insecure' } as const };
      const { shouldSyncHistoryMessage } = socketSettings({ endpoint, auth, caches: createSessionCaches(), logger });
      for (const kind of [0, 1, 2, 3, 4, 5, 6]) expect(shouldSyncHistoryMessage?.({ syncType: kind })).to.equal(false);
    });

    it('counts from the own phone only', async () => {
      for (const from of [`${friend}@s.whatsapp.net`, `${me}:7@s.whatsapp.net`, `${me}@lid`]) {
        const { tell, creds } = await keep({ from });
        await tell({ syncType, initialHistBootstrapInlinePayload: historyOf() });
        expect(creds, from).not.to.have.any.keys('nctSalt', 'hasHistory');
      }
    });

    it('seeds what is unknown, and overwrites nothing that is newer', async () => {
      const { tell, auth } = await keep();
      const nowSeconds = Math.floor(Date.now() / 1000);
      await auth.keys.set({ 'lid-mapping': { '490001': '700009', '700009_reverse': '490001' } });
      const newer = { token: Buffer.from('newer'), timestamp: String(nowSeconds), senderTimestamp: nowSeconds };
      await auth.keys.set({ tctoken: { '700009@lid': newer } });
      const tokenOf = (timestamp: number) => ({ tcToken: Buffer.from('older'), tcTokenTimestamp: timestamp });
      const conversations = [
        { id: '490001@s.whatsapp.net', lidJid: '700001@lid', ...tokenOf(nowSeconds - 60) },
        { id: '490002@s.whatsapp.net', lidJid: '700002@lid', ...tokenOf(nowSeconds - 60) },
        { id: '700003@lid', ...tokenOf(nowSeconds - 29 * 24 * 3600) },
      ] as proto.IConversation[];
      await tell({ syncType, initialHistBootstrapInlinePayload: historyOf({ conversations }) });
      const lids = await auth.keys.get('lid-mapping', ['490001', '490002', '700002_reverse', '700001_reverse']);
      expect(lids).to.deep.equal({ '490001': '700009', '490002': '700002', '700002_reverse': '490002' });
      const tokens = await auth.keys.get('tctoken', [
        '700009@lid',
        '700002@lid',
        '700003@lid',
        '490002@s.whatsapp.net',
      ]);
      expect(tokens['700009@lid']).to.deep.equal(newer);
      expect(Object.keys(tokens), 'under the hidden identifier; one that is too old is of no use').to.deep.equal([
        '700009@lid',
        '700002@lid',
      ]);
    });

    it('tells that the account has migrated, which counts as the word of its phone, and only where nothing is known', async () => {
      const globalSettings = { chatDbLidMigrationTimestamp: 1_780_000_000 } as proto.IGlobalSettings;
      const notice = { syncType, initialHistBootstrapInlinePayload: historyOf({ globalSettings }) };
      const { tell, creds } = await keep();
      await tell(notice);
      expect(readAddressing(creds as never)).to.deep.equal({ namespace: 'lid', isTold: true });
      const proven = await keep({ creds: { addressing: { namespace: 'pn' } } as never });
      await proven.tell(notice);
      expect(readAddressing(proven.creds as never)).to.deep.equal({ namespace: 'pn' });
    });

    it('is fetched when it is a file, and its place is stored before the message is confirmed', async () => {
      const { tell, keyStore, creds } = await keep();
      const file = await upload(historyOf());
      await tell(file);
      const isStored = keyStore.commits.some(({ creds: stored }) => stored?.includes(file.directPath));
      expect(isStored).to.equal(true);
      await eventually(() => creds.nctSalt === salt.toString('base64') && creds.waitingHistories?.length === 0);
    });

    it('is fetched after the next login when it could not be before, and given up in the end', async () => {
      const { mediaKey, fileEncSha256 } = await upload(historyOf());
      const base64 = { mediaKey: mediaKey.toString('base64'), fileEncSha256: fileEncSha256.toString('base64') };
      const gone = { directPath: '/v/t62.7118-24/gone.enc', isFirst: true, ...base64 };
      const waitingHistories = [
        { ...gone, attempts: 0 },
        { ...gone, attempts: 19 },
      ];
      const { keeper, creds, end } = await keep({ creds: { waitingHistories } });
      keeper.fetchWaiting();
      await eventually(() => creds.waitingHistories?.length === 1);
      expect(creds.waitingHistories?.[0]?.attempts).to.equal(1);
      end.abort();
    });

    it('is not taken when it was changed on its way, nor when it inflates beyond measure', async () => {
      const file = await upload(historyOf());
      const { tell, creds, end } = await keep();
      await tell({ ...file, fileEncSha256: randomBytes(32) });
      await eventually(() => creds.waitingHistories?.[0]?.attempts === 1);
      const bomb = deflateSync(Buffer.alloc(65 * 1024 * 1024));
      await tell({ syncType, initialHistBootstrapInlinePayload: bomb });
      await tell({ syncType, initialHistBootstrapInlinePayload: Buffer.from('nonsense') });
      expect(creds.nctSalt).to.equal(undefined);
      expect(creds.hasHistory, 'no message waits for another').to.equal(true);
      end.abort();
    });
  });
});

/** Where the library looks for it. */
function noticeIn(message: proto.IMessage) {
  const content = normalizeMessageContent(message.deviceSentMessage?.message ?? message);
  return content?.protocolMessage?.historySyncNotification;
}

function readable({ creds = '', keys = [] }: { creds?: string; keys?: { id: string; value: Uint8Array | null }[] }) {
  return [creds, ...keys.map(({ id, value }) => [id, value && Buffer.from(value).toString('latin1')])];
}
