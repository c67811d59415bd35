import type { MediaContent } from '@gateway/contracts/content/media-content';
import { ApiError } from '@gateway/runtime/errors';
import { putBlob } from '@gateway/store/blobs/blobs';
import { readWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import type { ApiDeps } from '../api-deps.js';
import type { Call } from '../http/endpoint.js';
import type { Attachment } from './attachment-schema.js';
import { type FetchCall, type FetchDeps, fetchFile } from './fetch-file.js';
import { nameFile, nameGiven } from './name-file.js';
import { sniffFile } from './sniff-file.js';

/** A file whose type was checked. */
export interface CheckedFile {
  bytes: Buffer;
  mimeType: string;
}

/** Of check 5: a file inside the request is looked at before anything else is done. Throws 400 with its path. */
export async function readInlineFile(attachment: Attachment): Promise<CheckedFile | undefined> {
  const { base64: file } = attachment;
  return file && checkFile(attachment, file.bytes!);
}

/** Of check 8. Throws 413, or 400 with its path. */
export async function fetchRemoteFile(attachment: Attachment, call: FetchCall, deps: FetchDeps): Promise<CheckedFile> {
  return checkFile(attachment, await fetchFile(attachment.url!, call, deps));
}

/**
 * Stores the file once for all recipients and sends, and examines it. Throws 503 if there is no room now, 413 if there never will be,
 * and 401 when the token was revoked while the file came.
 */
export async function storeFile(
  { address, token, requireToken }: Pick<Call<unknown, unknown>, 'address' | 'token' | 'requireToken'>,
  {
    store,
    clock,
    headroom,
    blobQuotaBytes,
    previews,
  }: Pick<ApiDeps, 'store' | 'clock' | 'headroom' | 'blobQuotaBytes' | 'previews'>,
  { attachment, file }: { attachment: Attachment; file: CheckedFile },
): Promise<MediaContent> {
  const { bytes, mimeType } = file;
  const { type } = attachment;
  const filename = nameFile(attachment, mimeType);
  const { fileBytes = Number.MAX_SAFE_INTEGER } = await readWorkspaceLimits(store, address.workspace);
  const quotaBytes = Math.min(fileBytes, await headroom.fileQuotaBytes(blobQuotaBytes));
  if (bytes.length > quotaBytes) throw neverFits(quotaBytes);
  // On a Cluster a file lies on another node than the device that was asked about.
  await headroom.refuseWithoutRoom('small');
  const description = await previews.describe({ bytes, type, mimeType, tokenId: token.keyId });
  await requireToken();
  const stored = await putBlob(store, address.workspace, { bytes, nowMs: clock.nowMs(), quotaBytes });
  if (stored.kind === 'full') throw new ApiError('unavailable', { headers: { 'Retry-After': '600' } });
  return {
    ...{ kind: 'media', type, mimeType, blob: stored.hash, blobHolder: stored.holder, sizeBytes: bytes.length },
    ...(filename !== undefined && { filename }),
    ...description,
  };
}

/** There is a 503 for a quota that is used up; this one will not have room later either. */
function neverFits(quotaBytes: number): ApiError {
  const message = `no file over ${quotaBytes} bytes fits into this workspace`;
  return new ApiError('payload_too_large', { details: [{ path: ['attachment'], message }] });
}

async function checkFile(attachment: Attachment, bytes: Buffer): Promise<CheckedFile> {
  const sniffed = await sniffFile(bytes, { ...attachment, ...nameGiven(attachment) });
  if (sniffed.kind === 'ok') return { bytes, mimeType: sniffed.mimeType };
  const source = attachment.url === undefined ? 'base64' : 'url';
  const path = ['attachment', sniffed.field === 'content' ? source : sniffed.field];
  throw new ApiError('invalid_request', { details: [{ path, message: sniffed.message }] });
}
