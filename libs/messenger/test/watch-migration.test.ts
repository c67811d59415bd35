import { setImmediate } from 'node:timers/promises';
import { watchMigration } from '@gateway/messenger/addressing/watch-migration';
import { type BaileysSocket, normalizeMessageContent, proto } from '@gateway/messenger/socket/baileys';
import { writeRandomPadMax16 } from '@whiskeysockets/baileys';
import { expect } from 'chai';

type Wrap = (message: proto.IMessage) => proto.IMessage;
type Pair = { pn: string; lid: string };

const ME = '4917000000001';
const OWN_LID = '900000000001';
const inDeviceSent: Wrap = (message) => ({ deviceSentMessage: { message } });
const { LID_MIGRATION_MAPPING_SYNC: type } = proto.Message.ProtocolMessage.Type;

describe('a push of mappings', () => {
  /** What was stored and said of it, and what is left of it for the library. */
  async function push(payload: Uint8Array, { from = ME, wrap = (message) => message, inGroup = false }: Options = {}) {
    const stored: Pair[] = [];
    const namespaces: string[] = [];
    const steps: string[] = [];
    const message = { protocolMessage: { type, lidMigrationMappingSyncMessage: { encodedMappingPayload: payload } } };
    const plain = writeRandomPadMax16(proto.Message.encode(wrap(message)).finish());
    const signalRepository = {
      decryptMessage: async () => plain,
      decryptGroupMessage: async () => plain,
      lidMapping: {
        async storeLIDPNMappings(pairs: Pair[]) {
          await setImmediate();
          stored.push(...pairs);
          steps.push('mappings');
        },
      },
    };
    const user = { id: `${ME}:5@s.whatsapp.net`, lid: `${OWN_LID}:5@lid` };
    const authState = { keys: { get: async () => ({}) } };
    const ws = { on: () => {}, prependListener: () => {} };
    const sock = { ws, user, authState, signalRepository } as unknown as BaileysSocket;
    const onNamespace = async (namespace: string) => {
      namespaces.push(namespace);
      steps.push('namespace');
    };
    watchMigration(sock, { onNamespace, onSetting: async () => {}, onFailed: (error) => expect.fail(error.message) });
    const jid = from.includes('@') ? from : `${from}@s.whatsapp.net`;
    const empty = Buffer.alloc(1);
    const left = inGroup
      ? await sock.signalRepository.decryptGroupMessage({ group: '1@g.us', authorJid: jid, msg: empty })
      : await sock.signalRepository.decryptMessage({ jid, type: 'msg', ciphertext: empty });
    const read = proto.Message.decode(Buffer.from(left).subarray(0, -left.at(-1)!));
    const { protocolMessage } = normalizeMessageContent(read.deviceSentMessage?.message ?? read)!;
    const bytes = protocolMessage!.lidMigrationMappingSyncMessage!.encodedMappingPayload!;
    return { stored, namespaces, steps, left: proto.LIDMigrationMappingSyncPayload.decode(bytes).pnToLidMappings };
  }

  it('is stored and leaves an empty one to the library, also wrapped', async () => {
    for (const wrap of [(message: proto.IMessage) => message, inDeviceSent]) {
      const { stored, namespaces, left } = await push(listOf(2), { wrap });
      expect(left).to.deep.equal([]);
      expect(namespaces).to.deep.equal(['lid']);
      expect(stored[1]).to.deep.equal({ pn: '490000001@s.whatsapp.net', lid: '700000001@lid' });
    }
  });

  it('of another device of the account, or in a group, counts for nothing and is emptied too', async () => {
    const others: Options[] = [
      { from: `${ME}:7@s.whatsapp.net` },
      { from: `${ME}:7@s.whatsapp.net`, wrap: inDeviceSent },
      { from: `${OWN_LID}:7@lid` },
      { from: ME, inGroup: true },
    ];
    for (const options of others) {
      expect(await push(listOf(2), options)).to.deep.equal({ stored: [], namespaces: [], steps: [], left: [] });
    }
  });

  it('says nothing of the account itself: its own names come from the network', async () => {
    const pairs = [
      { pn: Number(ME), assignedLid: 700_000_009 },
      { pn: 490_000_009, assignedLid: Number(OWN_LID) },
      { pn: 490_000_001, assignedLid: 700_000_001 },
    ];
    const { stored } = await push(proto.LIDMigrationMappingSyncPayload.encode({ pnToLidMappings: pairs }).finish());
    expect(stored).to.deep.equal([{ pn: '490000001@s.whatsapp.net', lid: '700000001@lid' }]);
  });

  it('changes the namespace only when its mappings are stored', async () => {
    const { steps } = await push(listOf(1_500));
    expect(steps).to.deep.equal(['mappings', 'mappings', 'namespace']);
  });

  it('that names an older and a newer hidden identifier is about the newer', async () => {
    const pairs = [{ pn: 490_000_001, assignedLid: 700_000_001, latestLid: 700_000_002 }];
    const { stored } = await push(proto.LIDMigrationMappingSyncPayload.encode({ pnToLidMappings: pairs }).finish());
    expect(stored).to.deep.equal([{ pn: '490000001@s.whatsapp.net', lid: '700000002@lid' }]);
  });

  it('is read up to 20,000 people', async () => {
    const { stored, left } = await push(listOf(20_100));
    expect([stored.length, left.length]).to.deep.equal([20_000, 0]);
  });

  it('that is damaged is emptied, and changes nothing', async () => {
    const cut = listOf(2).subarray(0, -1);
    expect(await push(cut)).to.deep.equal({ stored: [], namespaces: [], steps: [], left: [] });
  });

  it('of millions of empty entries takes no time', async () => {
    const costs: number[] = [];
    // The least counts: garbage of tests before may be collected meanwhile.
    for (let times = 0; times < 3; times++) {
      const before = process.cpuUsage();
      const { stored, left } = await push(Buffer.alloc(8_000_000, Buffer.from([0x0a, 0x00])));
      const { user, system } = process.cpuUsage(before);
      expect([stored, left]).to.deep.equal([[], []]);
      costs.push((user + system) / 1000);
    }
    expect(Math.min(...costs), 'CPU, in ms').to.be.lessThan(400);
  });
});

interface Options {
  from?: string;
  wrap?: Wrap;
  inGroup?: boolean;
}

function listOf(count: number): Uint8Array {
  const pnToLidMappings = Array.from({ length: count }, (_, i) => ({
    pn: 490_000_000 + i,
    assignedLid: 700_000_000 + i,
  }));
  return proto.LIDMigrationMappingSyncPayload.encode({ pnToLidMappings }).finish();
}
