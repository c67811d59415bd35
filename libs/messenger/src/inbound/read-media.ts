import { INBOUND_LIMITS, type InboundMedia } from '@gateway/contracts/content/inbound-content';
import { cutText } from './cut-text.js';

/** What the messages of all kinds of files have in common. */
interface FileMessage {
  url?: string | null;
  directPath?: string | null;
  mediaKey?: Uint8Array | null;
  fileSha256?: Uint8Array | null;
  fileEncSha256?: Uint8Array | null;
  mimetype?: string | null;
  fileLength?: number | { toString(): string } | null;
  seconds?: number | null;
  fileName?: string | null;
}

const HASH_BYTES = 32;
const MAX_PATH_CHARACTERS = 1_000;
/** What may stand in a URL behind its host. */
const PATH = /^\/[\w\-./%?=&~+:@!$'()*,;]+$/;
const MIME_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,100}(?:; ?[\w-]{1,30}="?[\w.+-]{1,60}"?){0,4}$/;
const MAX_BYTES = 4 * 1024 ** 3;
const HOST_IN_URL = /^https:\/\/([a-z0-9.-]{1,253}(?::\d{1,5})?)\//;
const MAX_SECONDS = 7 * 24 * 60 * 60;

/** `undefined` without what it takes to fetch the file, such as that of a message to be seen once. */
export function readMedia(file: FileMessage): InboundMedia | undefined {
  const { directPath, mediaKey, fileSha256, fileEncSha256 } = file;
  if (!directPath || directPath.length > MAX_PATH_CHARACTERS || !PATH.test(directPath)) return undefined;
  const [key, sha256, sealedSha256] = [mediaKey, fileSha256, fileEncSha256].map(base64);
  if (!key || !sha256 || !sealedSha256) return undefined;
  const host = HOST_IN_URL.exec((file.url ?? '').slice(0, MAX_PATH_CHARACTERS))?.[1];
  const seconds = bounded(file.seconds, MAX_SECONDS);
  const filename = cutText(file.fileName, INBOUND_LIMITS.maxFilenameCharacters);
  return {
    ...{ directPath, mediaKey: key, sha256, sealedSha256 },
    mimeType: MIME_TYPE.test(file.mimetype ?? '') ? file.mimetype! : 'application/octet-stream',
    bytes: bounded(file.fileLength, MAX_BYTES) ?? 0,
    ...(host && { host }),
    ...(seconds && { seconds }),
    ...(filename && { filename }),
  };
}

function base64(bytes: Uint8Array | null | undefined): string | undefined {
  return bytes?.length === HASH_BYTES ? Buffer.from(bytes).toString('base64') : undefined;
}

function bounded(value: FileMessage['fileLength'], most: number): number | undefined {
  const number = Number(value ?? Number.NaN);
  return number >= 0 && number <= most ? Math.floor(number) : undefined;
}
