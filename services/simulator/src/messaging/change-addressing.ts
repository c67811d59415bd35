import { proto } from '@whiskeysockets/baileys';
import type { Account } from '../accounts/account.js';
import type { Addressing } from '../directory/jids.js';
import type { Network } from '../network/network.js';
import type { PostOffice } from './post-office.js';

const { Type: ProtocolType } = proto.Message.ProtocolMessage;

/**
 * An account moves to the other namespace while its clients are linked. When it migrates to hidden identifiers its phone
 * tells them where its conversations went; the rule holds from then on. The way back is for tests: phones never take it.
 */
export async function changeAddressing(
  network: Network,
  office: PostOffice,
  account: Account,
  addressing: Addressing,
): Promise<void> {
  const migrates = addressing === 'lid' && account.addressing !== 'lid';
  account.addressing = addressing;
  if (migrates && network.settings.profile !== '2025')
    await office.writer.tellClients(account.number, mappings(network, account));
}

function mappings({ directory, now }: Network, { contacts }: Account): proto.IMessage {
  const pnToLidMappings = [...contacts].map((number) => {
    return { pn: Number(number), assignedLid: Number(directory.jidOf(number, 'lid').split('@')[0]) };
  });
  const chatDbMigrationTimestamp = Math.floor(now() / 1000);
  const payload = proto.LIDMigrationMappingSyncPayload.encode({ pnToLidMappings, chatDbMigrationTimestamp });
  const lidMigrationMappingSyncMessage = { encodedMappingPayload: payload.finish() };
  return { protocolMessage: { type: ProtocolType.LID_MIGRATION_MAPPING_SYNC, lidMigrationMappingSyncMessage } };
}
