import { readHistory } from '@gateway/messenger/history/read-history';
import { proto } from '@gateway/messenger/socket/baileys';
import { expect } from 'chai';

/** Field 19, which the library's definitions do not have. */
function withSalt(history: proto.IHistorySync, salt: Uint8Array): Buffer {
  const bytes = proto.HistorySync.encode(proto.HistorySync.create(history)).finish();
  return Buffer.concat([bytes, Buffer.from([0x9a, 0x01, salt.length]), salt]);
}

const { INITIAL_BOOTSTRAP: syncType } = proto.HistorySync.HistorySyncType;
const token = Buffer.from('a token');

describe('what is read of a history', () => {
  it('is salt, tokens, hidden identifiers and the time of migration', async () => {
    const conversations = [
      { id: '700001@lid', tcToken: token, tcTokenTimestamp: 5, tcTokenSenderTimestamp: 6 },
      { id: '490002@s.whatsapp.net', lidJid: '700002@lid', tcToken: token, tcTokenTimestamp: 7 },
      { id: '700003@lid', pnJid: '490003@s.whatsapp.net', displayName: 'a name' },
      { id: '120363000000000001@g.us', tcToken: token, tcTokenTimestamp: 8 },
      { id: '490004@s.whatsapp.net', tcToken: Buffer.alloc(0), tcTokenTimestamp: 9 },
      { id: '490005@s.whatsapp.net', tcToken: token },
    ] as proto.IConversation[];
    const phoneNumberToLidMappings = [
      { pnJid: '490006@s.whatsapp.net', lidJid: '700006@lid' },
      { pnJid: '0@s.whatsapp.net', lidJid: '0@lid' },
      { pnJid: '490007@s.whatsapp.net' },
      { pnJid: 'status@broadcast', lidJid: '700008@lid' },
    ];
    const salt = Buffer.from('salt of the account');
    const globalSettings = { chatDbLidMigrationTimestamp: 1_780_000_000, fontSize: 2 };
    const history = { syncType, conversations, phoneNumberToLidMappings, globalSettings };
    expect(await readHistory(withSalt(history, salt))).to.deep.equal({
      salt,
      lidMigrationTimestamp: 1_780_000_000,
      tokens: [
        { jid: '700001@lid', token, timestamp: 5, senderTimestamp: 6 },
        { jid: '490002@s.whatsapp.net', token, timestamp: 7 },
      ],
      lids: new Map([
        ['490002', '700002'],
        ['490003', '700003'],
        ['490006', '700006'],
      ]),
    });
  });

  it('shares no memory with the history, which would stay for as long as a token does', async () => {
    const conversations = [{ id: '700001@lid', tcToken: token, tcTokenTimestamp: 5 }] as proto.IConversation[];
    const bytes = withSalt({ syncType, conversations }, Buffer.from('salt'));
    const facts = await readHistory(bytes);
    bytes.fill(0);
    expect([facts.salt, facts.tokens[0]?.token].map(String)).to.deep.equal(['salt', 'a token']);
  });

  it('is little, however much there is', async () => {
    const people = Array.from({ length: 20_100 }, (_, i) => 500_000 + i);
    const conversations = people.map((id) => ({ id: `${id}@lid`, tcToken: token, tcTokenTimestamp: 5 }));
    const phoneNumberToLidMappings = people.map((id) => ({ pnJid: `${id}@s.whatsapp.net`, lidJid: `${id}@lid` }));
    const history = { syncType, conversations, phoneNumberToLidMappings } as proto.IHistorySync;
    const { tokens, lids, salt } = await readHistory(withSalt(history, Buffer.alloc(0)));
    expect([tokens.length, lids.size, salt]).to.deep.equal([20_000, 20_000, undefined]);
  });

  it('is nothing when the bytes are damaged', async () => {
    const conversations = [{ id: '700001@lid', tcToken: token, tcTokenTimestamp: 5 }] as proto.IConversation[];
    const bytes = withSalt({ syncType, conversations }, Buffer.from('salt'));
    for (let length = 1; length < bytes.length; length++) {
      try {
        await readHistory(bytes.subarray(0, length));
      } catch (thrown) {
        expect(String(thrown)).to.contain('malformed protobuf');
      }
    }
    const endless = Buffer.alloc(64, 0xff);
    expect(await failureOf(endless)).to.contain('malformed protobuf');
    const groups = Buffer.from([0x0b]);
    expect(await failureOf(groups)).to.contain('malformed protobuf');
  });
});

function failureOf(bytes: Uint8Array): Promise<string> {
  return readHistory(bytes).then(() => 'none', String);
}
