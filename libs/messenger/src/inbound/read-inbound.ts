import {
  INBOUND_LIMITS,
  type InboundContent,
  type InboundMediaType,
  type MessageReference,
} from '@gateway/contracts/content/inbound-content';
import { normalizeMessageContent, proto } from '../socket/baileys.js';
import { cutText } from './cut-text.js';
import { readContacts } from './read-contacts.js';
import { readMedia } from './read-media.js';
import { readSealedEdit, type SealedEdit } from './sealed-edit.js';

/** What a message says: its text or caption, and all else. */
export interface ReadInbound {
  text: string;
  content: InboundContent;
  /** Id of the message that it quotes. */
  replyTo?: string;
  /** Of an edit whose words are sealed. */
  sealedEdit?: SealedEdit;
}

/** Real ones have 40 at most. What is told of a message holds no more than 255. */
const MAX_ID_BYTES = 100;
const MAX_PLACE_CHARACTERS = 300;
const { REVOKE, MESSAGE_EDIT } = proto.Message.ProtocolMessage.Type;
const { MESSAGE_EDIT: SEALED_EDIT } = proto.Message.SecretEncryptedMessage.SecretEncType;

const MEDIA_FIELDS = {
  imageMessage: 'image',
  videoMessage: 'video',
  // Recorded in the conversation, and round.
  ptvMessage: 'video',
  audioMessage: 'audio',
  documentMessage: 'document',
  stickerMessage: 'sticker',
} as const satisfies Partial<Record<keyof proto.IMessage, InboundMediaType>>;

/** Nothing that a person reads: keys of groups, what only belongs to other fields, and that the next pictures belong together. */
const SILENT_FIELDS: ReadonlySet<string> = new Set([
  'senderKeyDistributionMessage',
  'fastRatchetKeySenderKeyDistributionMessage',
  'messageContextInfo',
  'albumMessage',
]);

/** Which the library leaves on: of a sticker that moves, of what is said to an assistant, and of what one said that is passed on. */
const WRAPPINGS = ['lottieStickerMessage', 'botInvokeMessage', 'botForwardedMessage'] as const;

/**
 * What a phone says in a message whose wrappers are gone; `undefined` for what no person wrote, such as a new timer of
 * disappearing messages. Everything is bounded: a phone may send what it wants. Previews are left out.
 */
export function readInbound(given: proto.IMessage): ReadInbound | undefined {
  const wrapped = WRAPPINGS.map((wrapping) => given[wrapping]?.message).find((inner) => inner != null);
  const message = wrapped ?? given;
  const { protocolMessage } = message;
  if (protocolMessage) return readProtocol(protocolMessage);
  const read = readPlain(message) ?? readReference(message) ?? readFile(message) ?? readThing(message);
  if (read) return read;
  const says = Object.entries(message).some(([field, value]) => value != null && !SILENT_FIELDS.has(field));
  return says ? { text: '', content: { type: 'unsupported' } } : undefined;
}

function readProtocol({ type, key, editedMessage }: proto.Message.IProtocolMessage): ReadInbound | undefined {
  if (type !== REVOKE && type !== MESSAGE_EDIT) return undefined;
  const to = referenceTo(key);
  if (!to) return undefined;
  if (type === REVOKE) return { text: '', content: { type: 'deleted', to } };
  return { text: readNewText(editedMessage ?? {}), content: { type: 'edited', to } };
}

/** What another message is changed to: as it is, or within what the app has made of it. */
export function readNewText(given: proto.IMessage): string {
  const message = normalizeMessageContent(given) ?? {};
  return textOf(normalizeMessageContent(message.protocolMessage?.editedMessage) ?? message);
}

function readPlain(message: proto.IMessage): ReadInbound | undefined {
  const { conversation, extendedTextMessage } = message;
  if (!conversation && !extendedTextMessage) return undefined;
  return withQuote({ text: textOf(message), content: { type: 'text' } }, extendedTextMessage?.contextInfo);
}

/** What is about another message. */
function readReference(message: proto.IMessage): ReadInbound | undefined {
  const { reactionMessage, pollUpdateMessage, secretEncryptedMessage } = message;
  const sealed = secretEncryptedMessage?.secretEncType === SEALED_EDIT ? secretEncryptedMessage : undefined;
  const about = reactionMessage?.key ?? pollUpdateMessage?.pollCreationMessageKey ?? sealed?.targetMessageKey;
  const to = referenceTo(about);
  if (!to) return undefined;
  if (sealed) return { text: '', content: { type: 'edited', to, isSealed: true }, ...readSealedEdit(sealed) };
  if (!reactionMessage) return { text: '', content: { type: 'pollVote', to } };
  const emoji = cutText(reactionMessage.text, INBOUND_LIMITS.maxEmojiCharacters) || null;
  return { text: '', content: { type: 'reaction', emoji, to } };
}

function readFile(message: proto.IMessage): ReadInbound | undefined {
  for (const [field, type] of Object.entries(MEDIA_FIELDS)) {
    const file = message[field as keyof typeof MEDIA_FIELDS];
    if (!file) continue;
    const media = readMedia(file);
    const voice = type === 'audio' && message.audioMessage?.ptt === true && { voice: true as const };
    const content: InboundContent = media ? { type, media, ...voice } : { type: 'unsupported' };
    return withQuote({ text: textOf(message), content }, file.contextInfo);
  }
  return undefined;
}

function readThing(message: proto.IMessage): ReadInbound | undefined {
  const { liveLocationMessage, contactMessage, contactsArrayMessage } = message;
  const place = message.locationMessage ?? liveLocationMessage;
  if (place) {
    const { degreesLatitude: latitude, degreesLongitude: longitude } = place;
    const isPlace = Math.abs(latitude ?? 91) <= 90 && Math.abs(longitude ?? 181) <= 180;
    const called = [message.locationMessage?.name, message.locationMessage?.address].filter(Boolean).join(', ');
    const name = cutText(called, MAX_PLACE_CHARACTERS);
    const content: InboundContent = isPlace
      ? { type: 'location', latitude: latitude!, longitude: longitude!, ...(name && { name }) }
      : { type: 'unsupported' };
    return withQuote({ text: '', content }, place.contextInfo);
  }
  const cards = contactsArrayMessage?.contacts ?? (contactMessage ? [contactMessage] : undefined);
  if (!cards) return undefined;
  const { contextInfo } = (contactsArrayMessage ?? contactMessage)!;
  return withQuote({ text: '', content: { type: 'contact', contacts: readContacts(cards) } }, contextInfo);
}

function textOf({ conversation, extendedTextMessage, ...media }: proto.IMessage): string {
  const file = media.imageMessage ?? media.videoMessage ?? media.documentMessage;
  return cutText(conversation || extendedTextMessage?.text || file?.caption, INBOUND_LIMITS.maxTextCharacters);
}

function withQuote(read: ReadInbound, context: proto.IContextInfo | null | undefined): ReadInbound {
  const quoted = referenceTo({ id: context?.stanzaId ?? null });
  return quoted ? { ...read, replyTo: quoted.platformId } : read;
}

function referenceTo(key: Pick<proto.IMessageKey, 'id'> | null | undefined): MessageReference | undefined {
  return isPlatformId(key?.id) ? { platformId: key.id } : undefined;
}

/** When the network accepted a message, by its attribute in seconds; `undefined` for what no date can hold, which would spoil every list. */
export function readTime(seconds: string | undefined): number | undefined {
  const ms = Number(seconds) * 1000;
  return ms > 0 && !Number.isNaN(new Date(ms).getTime()) ? ms : undefined;
}

/** Phones choose the ids of what they send. No app makes one with a NUL, which we put between an id and what we add to it. */
export function isPlatformId(id: string | null | undefined): id is string {
  return !!id && Buffer.byteLength(id) <= MAX_ID_BYTES && !/[\0\p{Surrogate}]/u.test(id);
}
