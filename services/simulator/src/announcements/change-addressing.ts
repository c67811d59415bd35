import { proto } from '@whiskeysockets/baileys';
import type { Account } from '../accounts/account.js';
import type { Directory } from '../directory/directory.js';
import { type Addressing, parseJid } from '../directory/jids.js';
import type { PostOffice } from '../messaging/post-office.js';
import type { Network } from '../network/network.js';

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
  if (migrates && network.rules.tellsMigration)
    await office.writer.tellClients(account.number, mappings(network, account.contacts));
}

/** The number of a person becomes known: the phones of the accounts that talk with them tell their clients. */
export async function announceMapping(network: Network, office: PostOffice, person: string): Promise<void> {
  if (!network.rules.tellsMigration) return;
  const message = mappings(network, [person]);
  for (const { number, contacts } of network.accounts.all()) {
    if (contacts.has(person)) await office.writer.tellClients(number, message);
  }
}

function mappings({ directory, now }: Network, people: Iterable<string>): proto.IMessage {
  const pnToLidMappings = [...people].flatMap((person) => mappingOf(directory, person) ?? []);
  const chatDbMigrationTimestamp = Math.floor(now() / 1000);
  const payload = proto.LIDMigrationMappingSyncPayload.encode({ pnToLidMappings, chatDbMigrationTimestamp });
  const lidMigrationMappingSyncMessage = { encodedMappingPayload: payload.finish() };
  return { protocolMessage: { type: ProtocolType.LID_MIGRATION_MAPPING_SYNC, lidMigrationMappingSyncMessage } };
}

/** The identifier that goes with the number comes first; the one that is used, if it is another, beside it. */
function mappingOf(directory: Directory, person: string): proto.ILIDMigrationMapping | undefined {
  const number = directory.numberOf(person);
  if (number === undefined) return undefined;
  const latest = Number(parseJid(directory.jidOf(person, 'lid'))?.user);
  const assigned = Number(directory.assignedLid(number));
  return { pn: Number(number), assignedLid: assigned, ...(latest !== assigned && { latestLid: latest }) };
}
