import type { MediaContent, MediaUpload } from '@gateway/contracts/content/media-content';
import { systemClock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import { within } from '../session/within.js';
import { type BaileysSocket, prepareWAMessageMedia, type proto } from '../socket/baileys.js';
import { adaptLogger } from '../socket/log-adapter.js';

/** Ten megabytes over a slow line. */
const UPLOAD_TIMEOUT_MS = 60_000;

type Pointer = Pick<proto.Message.IImageMessage, 'url' | 'directPath' | 'mediaKey' | 'fileSha256' | 'fileEncSha256'>;

/**
 * Encrypts a file with its own key and uploads it, once for any number of messages. The library encrypts into the
 * folder for temporary files, and deletes them. Rejects if no host accepted it: retry later.
 */
export async function uploadMedia(
  { sock, logger, signal }: { sock: BaileysSocket; logger: Logger; signal: AbortSignal },
  { type, mimeType }: Pick<MediaContent, 'type' | 'mimeType'>,
  bytes: Buffer,
): Promise<MediaUpload> {
  // With these, the library neither decodes the file nor writes it to disk unencrypted.
  const known = { mimetype: mimeType, jpegThumbnail: '', seconds: 0 };
  const work = prepareWAMessageMedia({ [type]: bytes, ...known } as never, {
    upload: sock.waUploadToServer,
    logger: adaptLogger(logger),
    mediaUploadTimeoutMs: UPLOAD_TIMEOUT_MS,
  });
  const message = await within({ timeoutMs: UPLOAD_TIMEOUT_MS, what: 'upload', signal }, work);
  return toUpload(message[`${type}Message`] as Pointer);
}

function toUpload({ url, directPath, mediaKey, fileSha256, fileEncSha256 }: Pointer): MediaUpload {
  const base64 = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes!).toString('base64');
  return {
    url: url ?? '',
    directPath: directPath ?? '',
    mediaKey: base64(mediaKey),
    fileSha256: base64(fileSha256),
    fileEncSha256: base64(fileEncSha256),
    atMs: systemClock.nowMs(),
  };
}
