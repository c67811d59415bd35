import { randomBytes } from 'node:crypto';
import type { MediaType } from '@gateway/contracts/content/media-content';
import type { ContentKind, Ready, ReadyContent } from '@gateway/contracts/content/message-content';
import { proto } from '../socket/baileys.js';

/** The message as the network knows it: what phones decrypt. */
export function toProto(content: ReadyContent): proto.IMessage {
  const toWire = WIRE[content.kind] as (content: ReadyContent) => proto.IMessage;
  return proto.Message.create({
    // Lets a phone prove to the network what it received when its user reports a message; clients always send it.
    messageContextInfo: { messageSecret: randomBytes(32) },
    ...toWire(content),
  });
}

/** One line for each kind; each kind of message has one field, with room for what it quotes. */
const WIRE: { [Kind in ContentKind]: (content: Ready<Kind>) => proto.IMessage } = {
  text: ({ text }) => ({ extendedTextMessage: { text } }),
  media: (content) => MEDIA_WIRE[content.type](partsOf(content), content),
};

type Media = Ready<'media'>;

const MEDIA_WIRE: { [Type in MediaType]: (parts: ReturnType<typeof partsOf>, media: Media) => proto.IMessage } = {
  image: ({ file, text, size, thumbnail }) => ({ imageMessage: { ...file, ...text, ...size, ...thumbnail } }),
  video: ({ file, text, size, duration, thumbnail }) => ({
    videoMessage: { ...file, ...text, ...size, ...duration, ...thumbnail },
  }),
  audio: ({ file, duration }) => ({ audioMessage: { ...file, ...duration, ptt: false } }),
  sticker: ({ file, size }, { animated, upload }) => ({
    stickerMessage: { ...file, ...size, ...(animated && { isAnimated: true }), stickerSentTs: upload.atMs },
  }),
  document: ({ file, text, thumbnail }, { filename = 'file' }) => ({
    documentMessage: { ...file, ...text, ...thumbnail, fileName: filename, title: filename },
  }),
};

/** Fields that several kinds of media share; empty if unknown. */
function partsOf(media: Media) {
  const { caption, width, height, seconds, thumbnail } = media;
  return {
    file: toFile(media),
    text: { ...(caption !== undefined && { caption }) },
    size: { ...(width && height && { width, height }) },
    duration: { ...(seconds !== undefined && { seconds }) },
    thumbnail: { ...(thumbnail && { jpegThumbnail: Buffer.from(thumbnail, 'base64') }) },
  };
}

/** Location and keys of the file: the same fields in every kind of message. */
function toFile({ mimeType, sizeBytes, upload }: Media) {
  return {
    url: upload.url,
    directPath: upload.directPath,
    mediaKey: Buffer.from(upload.mediaKey, 'base64'),
    fileSha256: Buffer.from(upload.fileSha256, 'base64'),
    fileEncSha256: Buffer.from(upload.fileEncSha256, 'base64'),
    fileLength: sizeBytes,
    mediaKeyTimestamp: Math.floor(upload.atMs / 1000),
    mimetype: mimeType,
  };
}
