import { randomBytes } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import { gcmEncrypt, hkdf } from '../crypto/ciphers.js';
import type { MediaStore } from '../media/media-store.js';
import { sealMedia } from '../media/seal-media.js';

export interface DraftFile {
  /** Its bytes; or how many there are, any. */
  readonly base64?: string;
  readonly size?: number;
  readonly mimeType?: string;
  readonly filename?: string;
  readonly seconds?: number;
  /** Of sound: recorded in the conversation. */
  readonly voice?: boolean;
}

interface Reference {
  /** Id of the message that it is about. */
  readonly id: string;
  /** Whether its writer wrote that one, too. */
  readonly own?: boolean;
}

/** What the owner of a phone writes: a text, or one of the other kinds, some of them with a text. */
export interface PhoneDraft {
  readonly text?: string;
  readonly image?: DraftFile;
  readonly video?: DraftFile;
  readonly audio?: DraftFile;
  readonly document?: DraftFile;
  readonly sticker?: DraftFile;
  readonly location?: { readonly latitude: number; readonly longitude: number; readonly name?: string };
  readonly contacts?: readonly { readonly name: string; readonly phone: string }[];
  /** An empty one takes the reaction back. */
  readonly reaction?: Reference & { readonly emoji: string };
  readonly pollVote?: Reference & { readonly options: readonly string[] };
  /** Sealed, as by newer apps; `plain`: as by older ones. */
  readonly edit?: Reference & { readonly plain?: boolean };
  readonly delete?: Reference;
  /** Something that clients do not know: an order. */
  readonly unsupported?: boolean;
  /** Id of a message of the other side that it quotes. */
  readonly replyTo?: string;
}

/** Whom a draft is to, as its writer's phone addresses them. */
interface ComposeDeps {
  readonly media: MediaStore;
  readonly mediaHost: string;
  readonly chat: string;
  /** How the other side knows the writer. */
  readonly writer: string;
  readonly atMs: number;
  /** That of a message which the writer has sent. */
  secretOf(id: string): Uint8Array | undefined;
}

export const FILE_KINDS = ['image', 'video', 'audio', 'document', 'sticker'] as const;
type FileKind = (typeof FILE_KINDS)[number];

const KEY_WORDS = { image: 'Image', sticker: 'Image', video: 'Video', audio: 'Audio', document: 'Document' } as const;
const MIME_TYPES: Record<FileKind, string> = {
  image: 'image/jpeg',
  sticker: 'image/webp',
  video: 'video/mp4',
  audio: 'audio/ogg; codecs=opus',
  document: 'application/pdf',
};
const { Type: ProtocolType } = proto.Message.ProtocolMessage;

/** The message as phones write it, with a secret of its own; files are sealed and kept where clients fetch them. */
export function composeMessage(deps: ComposeDeps, draft: PhoneDraft): proto.IMessage {
  return { ...composeContent(deps, draft), messageContextInfo: { messageSecret: randomBytes(32) } };
}

function composeContent(deps: ComposeDeps, draft: PhoneDraft): proto.IMessage {
  const { text, location, contacts, unsupported } = draft;
  const quote = quoteOf(deps, draft.replyTo);
  const kind = FILE_KINDS.find((each) => draft[each]);
  if (kind) return composeFile(deps, { kind, file: draft[kind]!, text, quote });
  if (location) {
    const { latitude: degreesLatitude, longitude: degreesLongitude, name } = location;
    return { locationMessage: { degreesLatitude, degreesLongitude, ...(name && { name }), ...quote } };
  }
  if (contacts) return composeContacts(contacts, quote);
  const about = composeReference(deps, draft);
  if (about) return about;
  if (unsupported) return { orderMessage: { orderId: '1', orderTitle: text ?? 'an order', ...quote } };
  return draft.replyTo ? { extendedTextMessage: { text: text ?? '', ...quote } } : { conversation: text ?? '' };
}

/** What the stanza of a message says of its kind. */
export function attrsOf({ protocolMessage, ...message }: proto.IMessage): Record<string, string> {
  if (message.secretEncryptedMessage) return { type: 'text', edit: '1' };
  if (protocolMessage) return { type: 'text', edit: protocolMessage.editedMessage ? '1' : '7' };
  if (message.reactionMessage) return { type: 'reaction', ...(!message.reactionMessage.text && { edit: '7' }) };
  if (message.pollUpdateMessage) return { type: 'poll' };
  return { type: message.conversation || message.extendedTextMessage ? 'text' : 'media' };
}

type Quote = { contextInfo?: proto.IContextInfo };

function quoteOf({ chat }: ComposeDeps, replyTo: string | undefined): Quote {
  return replyTo ? { contextInfo: { stanzaId: replyTo, participant: chat, quotedMessage: { conversation: '' } } } : {};
}

function composeFile(
  { media, mediaHost, atMs }: ComposeDeps,
  { kind, file, text, quote }: { kind: FileKind; file: DraftFile; text: string | undefined; quote: Quote },
): proto.IMessage {
  const { filename, seconds, voice } = file;
  const bytes = file.base64 === undefined ? randomBytes(file.size ?? 1_000) : Buffer.from(file.base64, 'base64');
  const sealed = sealMedia(media, bytes, KEY_WORDS[kind]);
  const pointer = {
    ...sealed,
    url: `https://${mediaHost}${sealed.directPath}`,
    mimetype: file.mimeType ?? MIME_TYPES[kind],
    mediaKeyTimestamp: Math.floor(atMs / 1000),
    ...(seconds !== undefined && { seconds }),
    ...(text !== undefined && { caption: text }),
    ...quote,
  };
  switch (kind) {
    case 'image':
      return { imageMessage: { ...pointer, jpegThumbnail: randomBytes(700) } };
    case 'video':
      return { videoMessage: pointer };
    case 'audio':
      return { audioMessage: { ...pointer, ptt: voice === true } };
    case 'document':
      return { documentMessage: { ...pointer, ...(filename !== undefined && { fileName: filename }) } };
    case 'sticker':
      return { stickerMessage: pointer };
  }
}

function composeContacts(contacts: NonNullable<PhoneDraft['contacts']>, quote: Quote): proto.IMessage {
  const cards = contacts.map(({ name, phone }) => ({
    displayName: name,
    vcard: `BEGIN:VCARD\nVERSION:3.0\nN:;${name};;;\nFN:${name}\nitem1.TEL;waid=${phone}:+${phone}\nEND:VCARD`,
  }));
  if (cards.length === 1) return { contactMessage: { ...cards[0], ...quote } };
  return { contactsArrayMessage: { displayName: `${cards.length} contacts`, contacts: cards, ...quote } };
}

function composeReference(deps: ComposeDeps, draft: PhoneDraft): proto.IMessage | undefined {
  const { chat, atMs } = deps;
  const keyOf = ({ id, own = false }: Reference) => ({ remoteJid: chat, fromMe: own, id });
  const { reaction, pollVote, edit, delete: deletion } = draft;
  if (reaction) {
    return { reactionMessage: { key: keyOf(reaction), text: reaction.emoji, senderTimestampMs: atMs } };
  }
  // Sealed with a secret that only the maker of the poll has given to those in the conversation: clients see that there was a vote.
  if (pollVote) {
    const vote = { encPayload: randomBytes(18 + 34 * pollVote.options.length), encIv: randomBytes(12) };
    return { pollUpdateMessage: { pollCreationMessageKey: keyOf(pollVote), vote, senderTimestampMs: atMs } };
  }
  if (edit) {
    const key = keyOf({ own: true, ...edit });
    const editedMessage = { conversation: draft.text ?? '' };
    const message = { protocolMessage: { key, type: ProtocolType.MESSAGE_EDIT, editedMessage, timestampMs: atMs } };
    return edit.plain ? message : sealEdit(deps, key, message);
  }
  return deletion && { protocolMessage: { key: keyOf({ own: true, ...deletion }), type: ProtocolType.REVOKE } };
}

/** Of a message that it does not have no one can read how it is changed. */
function sealEdit({ writer, secretOf }: ComposeDeps, key: { id: string }, edited: proto.IMessage): proto.IMessage {
  const secret = secretOf(key.id) ?? randomBytes(32);
  const keyBytes = hkdf(secret, 32, { info: `${key.id}${writer}${writer}Message Edit` });
  const encIv = randomBytes(12);
  const encPayload = gcmEncrypt(keyBytes, encIv, proto.Message.encode(edited).finish(), Buffer.alloc(0));
  const secretEncType = proto.Message.SecretEncryptedMessage.SecretEncType.MESSAGE_EDIT;
  return { secretEncryptedMessage: { targetMessageKey: key, encPayload, encIv, secretEncType } };
}
