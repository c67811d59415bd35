import type { proto } from '@whiskeysockets/baileys';
import type { Network } from '../network/network.js';
import { namesOf } from './conversation-names.js';
import { currentToken, saltOf } from './privacy-tokens.js';

/** Old conversations without a message that are listed for the sake of their tokens. */
const MOST_SILENT_CHATS = 2_000;
/** Field 19 of HistorySync, as bytes; the library's definitions end before it. */
const NCT_SALT = Buffer.from([0x9a, 0x01]);

/** What only the first history of a new client says: tokens of the people it talks with, the account's migration and its salt. */
export function bootstrapSecrets(
  network: Network,
  number: string,
  history: proto.IHistorySync,
): { readonly settings: Partial<proto.IHistorySync>; readonly unknown: Uint8Array } {
  const { addressing, hasSalt, saltIn, createdAtMs } = network.accounts.ensure(number);
  const conversations = withSilentChats(network, number, history).map((chat) => withToken(network, number, chat));
  const chatDbLidMigrationTimestamp = addressing === 'lid' ? Math.floor(createdAtMs / 1000) : undefined;
  const salt = saltOf(network, number);
  return {
    settings: {
      conversations,
      ...(chatDbLidMigrationTimestamp && { globalSettings: { chatDbLidMigrationTimestamp } }),
    },
    unknown:
      hasSalt && saltIn === 'history' ? Buffer.concat([NCT_SALT, Buffer.from([salt.length]), salt]) : Buffer.alloc(0),
  };
}

function withSilentChats(
  network: Network,
  number: string,
  { conversations }: proto.IHistorySync,
): proto.IConversation[] {
  const listed = conversations ?? [];
  const spoken = new Set(listed.map(({ id }) => network.directory.resolve(id ?? '')?.number));
  const silent = [...network.accounts.ensure(number).contacts].filter((each) => !spoken.has(each));
  return [...listed, ...silent.slice(-MOST_SILENT_CHATS).map((chat) => namesOf(network, number, chat))];
}

function withToken(network: Network, number: string, chat: proto.IConversation): proto.IConversation {
  const giver = network.directory.resolve(chat.id ?? '')?.number;
  if (!giver || giver === number) return chat;
  const { token, atSeconds } = currentToken(network, { giver, holder: number });
  return { ...chat, tcToken: token, tcTokenTimestamp: atSeconds, tcTokenSenderTimestamp: atSeconds };
}
