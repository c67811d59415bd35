import { normalizeMessageContent, type proto } from '@whiskeysockets/baileys';

/** What a phone makes of a decrypted message. */
export interface ReadContent {
  readonly type: string;
  readonly text: string | null;
  readonly details?: Record<string, unknown>;
}

type MediaContent = {
  caption?: string | null;
  mimetype?: string | null;
  fileLength?: unknown;
  url?: string | null;
  fileName?: string | null;
  width?: number | null;
  height?: number | null;
  seconds?: number | null;
  jpegThumbnail?: Uint8Array | null;
  isAnimated?: boolean | null;
};

/** Names the kind of a message and finds its text and the details a test asks for. */
export function readContent(message: proto.IMessage): ReadContent {
  const content = normalizeMessageContent(message) ?? message;
  if (typeof content.conversation === 'string') return { type: 'text', text: content.conversation };
  if (content.extendedTextMessage) {
    return withQuote({ type: 'text', text: content.extendedTextMessage.text ?? '' }, content.extendedTextMessage);
  }
  if (content.reactionMessage) {
    const { text, key } = content.reactionMessage;
    return { type: 'reaction', text: text ?? '', details: { to: key?.id ?? null } };
  }
  if (content.protocolMessage) return readProtocolMessage(content.protocolMessage);
  return readMedia(content) ?? { type: kindOf(content), text: null };
}

function readProtocolMessage(message: proto.Message.IProtocolMessage): ReadContent {
  const of = { of: message.key?.id ?? null };
  if (message.editedMessage) return { ...readContent(message.editedMessage), type: 'edit', details: of };
  return message.type === REVOKE ? { type: 'revoke', text: null, details: of } : { type: 'protocol', text: null };
}

const REVOKE = 0;
const MEDIA = {
  imageMessage: 'image',
  videoMessage: 'video',
  audioMessage: 'audio',
  documentMessage: 'document',
  stickerMessage: 'sticker',
} as const;

function readMedia(content: proto.IMessage): ReadContent | undefined {
  for (const [field, type] of Object.entries(MEDIA)) {
    const media = content[field as keyof typeof MEDIA] as (MediaContent & Quoting) | null | undefined;
    if (!media) continue;
    return withQuote({ type, text: media.caption || null, details: detailsOf(media) }, media);
  }
  return undefined;
}

/** What a phone knows of a file before it has it; leaves out what the message does not say. */
function detailsOf({
  fileName,
  width,
  height,
  seconds,
  jpegThumbnail,
  isAnimated,
  ...file
}: MediaContent): Record<string, unknown> {
  return {
    mimeType: file.mimetype ?? null,
    bytes: Number(file.fileLength ?? 0),
    url: file.url ?? null,
    ...(fileName && { fileName }),
    ...(width && height && { width, height }),
    ...(seconds && { seconds }),
    ...(isAnimated && { animated: true }),
    ...(jpegThumbnail?.length && { thumbnail: Buffer.from(jpegThumbnail).toString('base64') }),
  };
}

type Quoting = { contextInfo?: proto.IContextInfo | null };

function withQuote(read: ReadContent, content: Quoting): ReadContent {
  const { stanzaId: quoted, participant: quotedFrom, quotedMessage } = content.contextInfo ?? {};
  if (!quoted) return read;
  const { text: quotedText = null } = quotedMessage ? readContent(quotedMessage) : {};
  return { ...read, details: { ...read.details, quoted, quotedFrom, quotedText } };
}

/** The field's own name, for kinds without a word of their own. */
function kindOf(content: proto.IMessage): string {
  const fields = Object.entries(content).filter(([name, value]) => value && name !== 'messageContextInfo');
  return fields[0]?.[0] ?? 'empty';
}
