import { deflateSync } from 'node:zlib';
import { proto } from '@whiskeysockets/baileys';
import { bootstrapSecrets } from '../messaging/bootstrap-secrets.js';
import { namesOf } from '../messaging/conversation-names.js';
import { namespaceOf } from '../network/namespace-of.js';
import type { Network } from '../network/network.js';

/** The most recent messages, of which a newly linked client is told. */
const MOST_RECENT = 500;

const { HistorySyncType } = proto.HistorySync;
const { Type: ProtocolType } = proto.Message.ProtocolMessage;

/** A message as the phone of an account remembers it, whichever side wrote it. */
export interface Remembered {
  readonly id: string;
  /** Number of the person it was exchanged with, or jid of the group. */
  readonly chat: string;
  /** Number of who wrote it. */
  readonly from: string;
  readonly text: string | null;
  readonly atMs: number;
}

/** Everything that the phone of `number` has, oldest first. */
export function remembered(network: Network, number: string, written: Iterable<Remembered>): Remembered[] {
  const phone = network.phones.known(number);
  const received = [...(phone?.inbox.rows() ?? [])]
    .filter(({ shown }) => shown > 0)
    .map(({ id, from, group, text, at }) => ({ id, chat: group ?? from, from, text, atMs: at }));
  const all = [...received, ...(phone?.sent ?? []), ...written];
  return all.sort((one, other) => one.atMs - other.atMs);
}

/**
 * What a phone tells a client that was just linked, in the order of real phones: every conversation with its last
 * message, the names of people, then the conversations themselves.
 */
export function introductions(network: Network, number: string, all: readonly Remembered[]): proto.IMessage[] {
  const messages = all.slice(-MOST_RECENT);
  const latest = new Map(messages.map((message) => [message.chat, message]));
  const people = new Set(messages.map(({ from }) => from));
  const pushnames = [...people].map((each) => {
    return { id: network.directory.jidOf(each, 'pn'), pushname: network.accounts.find(each)?.pushName ?? each };
  });
  return [
    bootstrap(network, number, [...latest.values()]),
    notice({ syncType: HistorySyncType.PUSH_NAME, pushnames }),
    notice({
      syncType: HistorySyncType.RECENT,
      ...contents(network, number, messages),
      chunkOrder: 1,
      progress: 100,
    }),
  ];
}

/** The first of a history. Since 2026 it is the only one that tells of the account's migration, its salt and its tokens. */
function bootstrap(network: Network, number: string, latest: readonly Remembered[]): proto.IMessage {
  const head = { syncType: HistorySyncType.INITIAL_BOOTSTRAP, chunkOrder: 1, progress: 100 };
  const history = { ...contents(network, number, latest), ...head };
  if (!network.rules.wantsTokens) return notice(history);
  const { settings, unknown } = bootstrapSecrets(network, number, history);
  return notice({ ...history, ...settings }, {}, unknown);
}

/** What a client asked for: so many messages of a conversation from before one that it has. */
export function olderMessages(
  network: Network,
  number: string,
  { messages, sessionId, request }: { messages: readonly Remembered[]; sessionId: string; request: OlderRequest },
): proto.IMessage {
  const { chatJid, oldestMsgId, onDemandMsgCount } = request;
  const chat = network.directory.resolve(chatJid ?? undefined)?.number ?? chatJid;
  const conversation = messages.filter((message) => message.chat === chat);
  const place = conversation.findIndex(({ id }) => id === oldestMsgId);
  const older = place < 0 ? [] : conversation.slice(0, place).slice(-(onDemandMsgCount ?? 50));
  const history = { syncType: HistorySyncType.ON_DEMAND, ...contents(network, number, older) };
  return notice(history, { peerDataRequestSessionId: sessionId });
}

type OlderRequest = proto.Message.PeerDataOperationRequestMessage.IHistorySyncOnDemandRequest;

function contents(network: Network, number: string, messages: readonly Remembered[]): proto.IHistorySync {
  const chats = new Map<string, Remembered[]>();
  for (const message of messages) chats.set(message.chat, [...(chats.get(message.chat) ?? []), message]);
  const { directory, groups, accounts } = network;
  const people = [...chats.keys()].filter((chat) => !groups.find(chat));
  const conversations = [...chats].map(([chat, own]) => {
    const group = groups.find(chat);
    const newestFirst = own.map((each) => ({ message: webMessage(network, number, each) })).reverse();
    const conversationTimestamp = seconds(own.at(-1)!.atMs);
    if (group) return { id: chat, name: group.subject, messages: newestFirst, conversationTimestamp };
    const names = namesOf(network, number, chat);
    return { ...names, displayName: accounts.find(chat)?.pushName, messages: newestFirst, conversationTimestamp };
  });
  const known = people.filter((person) => directory.numberOf(person) !== undefined);
  const phoneNumberToLidMappings = known.map((person) => {
    return { pnJid: directory.jidOf(person, 'pn'), lidJid: directory.jidOf(person, 'lid') };
  });
  return { conversations, phoneNumberToLidMappings } as proto.IHistorySync;
}

/** Texts whole; of anything else that there was something. */
export function webMessage(
  network: Network,
  number: string,
  { id, chat, from, text, atMs }: Remembered,
): proto.IWebMessageInfo {
  const { directory, groups } = network;
  const isGroup = groups.find(chat) !== undefined;
  const fromMe = from === number;
  const remoteJid = isGroup ? chat : directory.jidOf(chat, namespaceOf(network, number, 'pn'));
  const participant = isGroup && !fromMe ? directory.jidOf(from, 'lid') : undefined;
  const key = { remoteJid, fromMe, id, ...(participant && { participant }) };
  const message = { conversation: text ?? '' };
  return { key, message, messageTimestamp: seconds(atMs), ...(participant && { participant }) };
}

const NOTHING = Buffer.alloc(0);
const seconds = (atMs: number) => Math.floor(atMs / 1000);

/** Fields that the library's definitions do not have come as bytes. Travels inside the message; real phones upload what is large. */
function notice(history: proto.IHistorySync, more: object = {}, unknown: Uint8Array = NOTHING): proto.IMessage {
  const { syncType, chunkOrder, progress } = history;
  const known = proto.HistorySync.encode(proto.HistorySync.create(history)).finish();
  const payload = deflateSync(Buffer.concat([known, unknown]));
  const about = { syncType: syncType as number, chunkOrder: chunkOrder ?? 1, progress: progress ?? 100, ...more };
  const historySyncNotification = { ...about, initialHistBootstrapInlinePayload: payload };
  return { protocolMessage: { type: ProtocolType.HISTORY_SYNC_NOTIFICATION, historySyncNotification } };
}
