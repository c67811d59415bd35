import { randomBytes } from 'node:crypto';
import type { MediaContent, MediaUpload, ReadyContent } from '@gateway/contracts/content/message-content';
import { proto } from '../socket/baileys.js';

/** The message as the network knows it: what phones decrypt. */
export function toProto(content: ReadyContent): proto.IMessage {
  return proto.Message.create({
    ...(content.kind === 'text' ? { extendedTextMessage: { text: content.text } } : toMedia(content)),
    // Lets a phone prove to the network what it received when its user reports a message; clients always send it.
    messageContextInfo: { messageSecret: randomBytes(32) },
  });
}

function toMedia(content: MediaContent & { upload: MediaUpload }): proto.IMessage {
  const { caption, width, height, seconds, filename, animated } = content;
  const file = toFile(content);
  const size = { ...(width && height && { width, height }) };
  const thumbnail = content.thumbnail ? { jpegThumbnail: Buffer.from(content.thumbnail, 'base64') } : {};
  const duration = { ...(seconds !== undefined && { seconds }) };
  const text = { ...(caption !== undefined && { caption }) };
  switch (content.type) {
    case 'image':
      return { imageMessage: { ...file, ...text, ...size, ...thumbnail } };
    case 'video':
      return { videoMessage: { ...file, ...text, ...size, ...duration, ...thumbnail } };
    case 'audio':
      return { audioMessage: { ...file, ...duration, ptt: false } };
    case 'sticker':
      return {
        stickerMessage: { ...file, ...size, ...(animated && { isAnimated: true }), stickerSentTs: content.upload.atMs },
      };
    case 'document':
      return {
        documentMessage: { ...file, ...text, ...thumbnail, fileName: filename ?? 'file', title: filename ?? 'file' },
      };
  }
}

/** Where the file is, and what opens it: the same fields in every kind of message. */
function toFile({ mimeType, sizeBytes, upload }: MediaContent & { upload: MediaUpload }) {
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
